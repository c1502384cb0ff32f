#include "core/memory/memory_reader.h"

namespace clr {

std::span<const std::byte> MemoryReader::view(Address, std::size_t) {
  return {};
}

} // namespace clr
