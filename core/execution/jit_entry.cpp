#include "core/execution/jit_entry.h"

#include "core/isa/architecture.h"
#include "core/memory/error.h"
#include "core/memory/target_pointer.h"

#include <array>

namespace clr {

namespace {
// The first virtual functions of ICorJitCompiler: compileMethod, ProcessShutdownWork, getVersionIdentifier.
// An object whose first three virtual functions are code of the image counts as a compiler.
constexpr unsigned checked_functions = 3;

bool in_image(const LoadedModule& image, Address address) {
  return address >= image.base && address - image.base < image.size;
}

// The first virtual function of the object at `object`, if that object can be a compiler.
std::optional<Address> compile_method(MemoryReader& memory, const Platform& platform,
                                      const LoadedModule& image, Address object) {
  if (!in_image(image, object)) return std::nullopt;
  const auto functions = pointer_at(memory, platform, object);
  // The table of virtual functions is not code, so none of its entries may point at the table itself.
  if (!functions || !in_image(image, *functions)) return std::nullopt;
  std::optional<Address> first;
  for (unsigned i = 0; i < checked_functions; ++i) {
    const auto function = pointer_at(memory, platform, *functions + i * platform.pointer_size);
    if (!function || !in_image(image, *function) || *function == *functions) return std::nullopt;
    if (!first) first = function;
  }
  return first;
}
} // namespace

std::optional<Address> compile_method_of_manager(MemoryReader& memory, const Platform& platform,
                                                 Address jit_manager, const LoadedModule& image) {
  for (std::size_t i = 0; i < max_jit_manager_words; ++i) {
    const Address at = platform.wrap(jit_manager + i * platform.pointer_size);
    const auto word = pointer_at(memory, platform, at);
    if (!word && i == 0) throw_missing(at);
    if (!word) break;
    if (const auto found = compile_method(memory, platform, image, *word)) return found;
  }
  return std::nullopt;
}

std::optional<Address> compile_method_of_export(MemoryReader& memory, const Platform& platform,
                                                Address get_jit, std::span<const std::byte> code,
                                                const LoadedModule& image) {
  code = code.first(std::min(code.size(), max_get_jit));
  std::optional<Address> found;
  const auto look = [&](Address object) {
    if (!found) found = compile_method(memory, platform, image, object);
  };
  if (const auto visit = architecture_of(platform.cpu).visit_own_addresses) visit(get_jit, code, look);
  return found;
}

} // namespace clr
