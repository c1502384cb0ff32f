// Values by address. Lookups of methods and types are most of the work of naming all code of a process, and
// here they touch one place of a flat table.
#pragma once

#include "core/memory/platform.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace clr {

template<typename Value>
class AddressTable {
public:
  // The value at `address`; null when there is none. Valid as long as the table.
  Value* find(Address address) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = place_of(address); slots_[i].value != nullptr; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].address == address) return slots_[i].value;
    return nullptr;
  }

  // Adds a value at an address that has none.
  Value& add(Address address, Value value) {
    // Long probes begin at a load of two thirds.
    if (3 * (count_ + 1) > 2 * slots_.size()) grow();
    if (chunks_.empty() || chunks_.back().size() == chunks_.back().capacity()) {
      chunks_.emplace_back();
      chunks_.back().reserve(std::clamp(count_, smallest_chunk, largest_chunk));
    }
    Value& added = chunks_.back().emplace_back(std::move(value));
    insert({address, &added});
    ++count_;
    return added;
  }

  std::size_t size() const { return count_; }

private:
  struct Slot {
    Address address = 0;
    Value* value = nullptr; // null: an empty slot
  };
  static constexpr std::size_t first_slots = 64, smallest_chunk = 8, largest_chunk = 256;

  std::size_t place_of(Address address) const {
    constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
    return static_cast<std::size_t>(address * spread >> shift_);
  }
  void insert(const Slot& slot) {
    std::size_t i = place_of(slot.address);
    while (slots_[i].value != nullptr) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max(first_slots, 2 * old.size()), {});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_.size()));
    for (const Slot& slot : old)
      if (slot.value != nullptr) insert(slot);
  }

  std::vector<std::vector<Value>> chunks_; // none grows beyond what it reserved, so that values stay in place
  std::size_t count_ = 0;
  std::vector<Slot> slots_; // open addressing; the size is a power of two
  unsigned shift_ = 64;
};

} // namespace clr
