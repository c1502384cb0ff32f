#include "core/memory/target_pointer.h"

#include <array>
#include <span>

namespace clr {

std::optional<Address> pointer_at(MemoryReader& memory, const Platform& platform, Address at) {
  std::array<std::byte, sizeof(std::uint64_t)> raw{};
  const std::span<std::byte> word = std::span(raw).first(platform.pointer_size);
  if (memory.read_some(platform.wrap(at), word) != word.size()) return std::nullopt;
  return word.size() == sizeof(std::uint32_t) ? load<std::uint32_t>(word, platform.byte_order)
                                              : load<std::uint64_t>(word, platform.byte_order);
}

} // namespace clr
