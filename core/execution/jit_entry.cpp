#include "core/execution/jit_entry.h"

#include "core/isa/code_reference.h"
#include "core/memory/error.h"

#include <array>

namespace clr {

namespace {
// The first virtual functions of ICorJitCompiler: compileMethod, ProcessShutdownWork, getVersionIdentifier.
// An object whose first three virtual functions are code of the image counts as a compiler.
constexpr unsigned checked_functions = 3;

bool in_image(const LoadedModule& image, Address address) {
  return address >= image.base && address - image.base < image.size;
}

std::optional<Address> pointer_at(MemoryReader& memory, const Platform& platform, Address at) {
  std::array<std::byte, 8> raw{};
  const std::span<std::byte> bytes = std::span(raw).first(platform.pointer_size == 4 ? 4 : 8);
  if (memory.read_some(platform.wrap(at), bytes) != bytes.size()) return std::nullopt;
  return bytes.size() == 4 ? load<std::uint32_t>(bytes, platform.byte_order)
                           : load<std::uint64_t>(bytes, platform.byte_order);
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

// Visits every address that the code computes relative to its own place and puts into a register.
template<typename Visit>
void each_x64_address(Address start, std::span<const std::byte> code, Visit&& visit) {
  // REX.W 8D /r with mod 0, rm 5: lea reg, [rip + disp32].
  for (std::size_t i = 0; i + 7 <= code.size(); ++i) {
    const auto byte = [&](std::size_t k) { return std::to_integer<unsigned>(code[i + k]); };
    if ((byte(0) & 0xfb) != 0x48 || byte(1) != 0x8d || (byte(2) & 0xc7) != 0x05) continue;
    const auto displacement = load<std::int32_t>(code.subspan(i + 3, 4), ByteOrder::little);
    visit(start + i + 7 + static_cast<Address>(static_cast<std::int64_t>(displacement)));
  }
}

template<typename Visit>
void each_arm64_address(Address start, std::span<const std::byte> code, Visit&& visit) {
  CodeReferences references(Cpu::arm64);
  for (std::size_t i = 0; i + 4 <= code.size(); i += 4)
    if (const auto reference = references.next(start + i, code.subspan(i, 4))) visit(reference->address);
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
  if (platform.cpu == Cpu::x64) each_x64_address(get_jit, code, look);
  if (platform.cpu == Cpu::arm64) each_arm64_address(get_jit, code, look);
  return found;
}

} // namespace clr
