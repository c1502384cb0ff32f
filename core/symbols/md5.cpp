#include "core/symbols/md5.h"

#include "core/memory/memory_reader.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t block_size = 64;
constexpr std::size_t length_size = 8; // of the message, in bits, at the end of the last block

using State = std::array<std::uint32_t, 4>;

// RFC 1321 3.4: floor(2^32 * |sin(i + 1)|), which a double holds exactly enough.
std::array<std::uint32_t, 64> make_sines() {
  std::array<std::uint32_t, 64> sines{};
  for (std::size_t i = 0; i < sines.size(); ++i)
    sines[i] = static_cast<std::uint32_t>(
        std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
  return sines;
}

void add_block(State& state, std::span<const std::byte> block) {
  static const std::array<std::uint32_t, 64> sines = make_sines();
  constexpr int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = state;
  for (unsigned i = 0; i < 64; ++i) {
    std::uint32_t mixed = 0;
    unsigned word = 0;
    switch (i / 16) {
    case 0:
      mixed = (b & c) | (~b & d), word = i;
      break;
    case 1:
      mixed = (d & b) | (~d & c), word = (5 * i + 1) % 16;
      break;
    case 2:
      mixed = b ^ c ^ d, word = (3 * i + 5) % 16;
      break;
    default:
      mixed = c ^ (b | ~d), word = (7 * i) % 16;
      break;
    }
    mixed += a + sines[i] + load<std::uint32_t>(block.subspan(4 * word), ByteOrder::little);
    a = d;
    d = c;
    c = b;
    b += std::rotl(mixed, shifts[i / 16][i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

} // namespace

std::array<std::byte, 16> md5(std::span<const std::byte> bytes) {
  State state{0x6745'2301, 0xefcd'ab89, 0x98ba'dcfe, 0x1032'5476};
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.push_back(std::byte{0x80});
  while (padded.size() % block_size != block_size - length_size) padded.push_back(std::byte{0});
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (unsigned i = 0; i < length_size; ++i) padded.push_back(static_cast<std::byte>(bits >> (8 * i)));
  for (std::size_t at = 0; at < padded.size(); at += block_size)
    add_block(state, std::span(padded).subspan(at, block_size));
  std::array<std::byte, 16> digest{};
  for (unsigned i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::byte>(state[i / 4] >> (8 * (i % 4)));
  return digest;
}

} // namespace clr
