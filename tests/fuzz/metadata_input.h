// Inputs that are a PE image when they start like one, else a metadata root. The magics are always valid, so
// that mutation gets past the first checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace clr::fuzz {

struct MetadataInput {
  std::vector<std::byte> bytes;
  bool image = false;
  bool mapped = false;  // of an image: laid out as in memory, not as in its file
  bool lends = true;    // of an image: its memory lends bytes, as that of a file does
  std::size_t held = 0; // of a root: so many bytes are in memory, the others are missing
};

// Bytes that a torn root lacks for each unit of its third byte.
constexpr std::size_t torn_unit = 16;

// Nothing for inputs in which no header has room.
inline std::optional<MetadataInput> metadata_input(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t smallest = 64;
  if (size < smallest) return std::nullopt;
  MetadataInput made{.bytes = std::vector<std::byte>(size),
                     .image = data[0] == 'M',
                     .mapped = (data[1] & 1) != 0,
                     .lends = (data[1] & 2) != 0,
                     .held = size};
  if (!made.image && (data[1] & 4) != 0) made.held -= std::min<std::size_t>(size, torn_unit * data[2]);
  std::memcpy(made.bytes.data(), data, size);
  std::memcpy(made.bytes.data(), made.image ? "MZ" : "BSJB", made.image ? 2 : 4);
  return made;
}

} // namespace clr::fuzz
