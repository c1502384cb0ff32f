// The IL of methods, from the images of their modules.
#pragma once

#include "core/metadata/metadata.h"
#include "core/objects/object_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace clr {

// Calls `visit` with the metadata of `module` and the IL of the method `token`. Does not when the module has
// no image. Throws as il_code does. Cost: some 10 reads.
void with_method_il(ObjectReader& objects, Address module, std::uint32_t token,
                    const std::function<void(const Metadata&, std::span<const std::byte> il)>& visit);

// Whether a jump from `offset` or behind it leads back to it or in front of it. Throws Error{corrupt}. Linear
// in the size of the code.
bool is_in_loop(std::span<const std::byte> il, std::uint32_t offset);

// Where a method waits that the runtime itself suspends: the IL offsets of its calls of AsyncHelpers.Await
// and of what else suspends, ascending; each with the offset of the call before it, which the JIT may take in
// its place. Throws Error{corrupt}. Source: dotnet/roslyn docs (runtime async), dotnet/runtime
// src/coreclr/jit/importercalls.cpp.
struct AwaitCall {
  std::uint32_t before = 0, offset = 0;
  // When what is awaited is DisposeAsync() of a variable: the store of that variable. See AwaitSite.
  std::optional<std::uint32_t> dispose_store = std::nullopt;
};
std::vector<AwaitCall> await_calls(const Metadata& metadata, std::span<const std::byte> il);

} // namespace clr
