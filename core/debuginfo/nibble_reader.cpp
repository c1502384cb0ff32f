#include "core/debuginfo/nibble_reader.h"

namespace clr {

void DebugInfoChunk::throw_end(std::size_t offset) const {
  if (memory_ends) throw_missing(address + offset);
  throw_corrupt(address, "debug info that goes on behind its end");
}

unsigned NibbleReader::nibble() {
  const std::size_t byte = nibble_ / 2;
  if (byte >= chunk_.bytes.size()) chunk_.throw_end(byte);
  const auto value = std::to_integer<unsigned>(chunk_.bytes[byte]);
  return nibble_++ % 2 == 0 ? value & 0xF : value >> 4;
}

std::uint32_t NibbleReader::u32() {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < max_nibbles; ++i) {
    const unsigned group = nibble();
    value = value << 3 | (group & 7);
    if ((group & 8) != 0) continue;
    if (value > 0xFFFF'FFFFu) break;
    return static_cast<std::uint32_t>(value);
  }
  throw_corrupt(chunk_.address, "an integer of more than 32 bits in debug info");
}

std::int32_t NibbleReader::i32() {
  const std::uint32_t coded = u32();
  const auto magnitude = static_cast<std::int32_t>(coded >> 1);
  return (coded & 1) != 0 ? -magnitude : magnitude;
}

} // namespace clr
