// Where the code of an async method waits, read from the IL of its MoveNext. No native code is looked at, so
// tiers and optimisation do not matter.
// Source of the pattern: dotnet/roslyn src/Compilers/CSharp/Portable/Lowering/AsyncRewriter; of the offsets:
// dotnet/runtime docs/design/specs/PortablePdb-Metadata.md (async method stepping information).
#pragma once

#include "core/metadata/il_code.h"
#include "core/metadata/metadata.h"
#include "core/types/shared_text.h"

#include <map>
#include <optional>
#include <string>

namespace clr {

// An await: the place where its state is stored.
struct AwaitSite {
  // IL offset right behind the store: the yield offset of the PDB.
  std::uint32_t yield_offset = 0;
  SharedText awaiter;   // the field that keeps the awaiter; "" when none was found
  bool in_loop = false; // a jump from behind it leads to before it
  // Of an await of DisposeAsync() the IL offset of that call, and that of the store of what is disposed. The
  // await that belongs to `await using` has no line of its own; the store has that of the declaration.
  std::optional<std::uint32_t> dispose_call, dispose_store;
};

// By states: those that MoveNext stores and that are 0 or more. Throws Error{corrupt} for damaged IL and for
// tokens of no field. Cost: 2 reads of metadata for each store of a field and for some calls.
std::map<std::int32_t, AwaitSite> await_sites(const Metadata& metadata, std::span<const std::byte> il);

constexpr std::int32_t max_await_states = 100'000; // of a method
constexpr std::size_t max_await_name = 256;        // bytes of the name of a field or method

} // namespace clr
