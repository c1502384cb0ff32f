// Bytes of a target that a source lends without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

class PartialFile;

struct LentBytes {
  std::span<const std::byte> bytes; // empty: nothing is lent
  // Null: all of `bytes` are there. Otherwise each part is, once PartialFile::provide has said so.
  PartialFile* file = nullptr;
  std::uint64_t offset = 0; // of `bytes` in the file
};

} // namespace clr
