#include "core/memory/memory_reader.h"

namespace clr {

std::span<const std::byte> MemoryReader::view(Address, std::size_t) {
  return {};
}

void MemoryReader::read(Address address, std::span<std::byte> out) {
  const std::size_t got = read_some(address, out);
  if (got < out.size()) throw_missing(address + got);
}

} // namespace clr
