// A run of target addresses.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>

namespace clr {

struct MemoryRange {
  Address begin = 0;
  std::uint64_t size = 0; // bytes; begin + size does not wrap

  Address end() const { return begin + size; }
  bool contains(Address address) const { return address - begin < size; }
  friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

} // namespace clr
