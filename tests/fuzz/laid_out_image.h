// A PE image as a loader lays it out, of the bytes of its file.
#pragma once

#include "core/memory/pe_layout.h"

#include <algorithm>
#include <span>
#include <vector>

namespace clr::fuzz {

// Parts that lie outside of the file or of the image are left out; nothing is relocated.
inline std::vector<std::byte> lay_out(const PeLayout& layout, std::span<const std::byte> file) {
  std::vector<std::byte> image(layout.image_size);
  const auto copy = [&](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    if (from >= file.size() || to >= image.size()) return;
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(from),
                std::min({size, file.size() - from, image.size() - to}),
                image.begin() + static_cast<std::ptrdiff_t>(to));
  };
  copy(0, 0, layout.header_size);
  for (const PeSection& section : layout.sections) copy(section.raw_offset, section.rva, section.raw_size);
  return image;
}

} // namespace clr::fuzz
