// The values of the addresses that were asked for last, up to a fixed number. A walk over all methods of a
// process asks for each once, and never again: what it would leave behind in memory costs more than to make a
// few of the values anew.
#pragma once

#include "core/memory/platform.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace clr {

template<typename Value>
class RecentTable {
public:
  // Values that are kept. The addresses that a stack repeats are few hundreds; of more, the oldest are no
  // longer in the cache of the processor when they are thrown away, and that costs more than they are worth.
  static constexpr std::size_t max_kept = 512;

  // The value at `address`; null when there is none, or no longer. Valid until the next add().
  const Value* find(Address address) const {
    const Set& set = sets_[number_of(address)];
    for (const Way& way : set.ways)
      if (way.value != nullptr && way.address == address) return way.value;
    return nullptr;
  }

  // Adds a value at an address that has none, in the place of the oldest of those that share its set.
  const Value& add(Address address, Value value) {
    Set& set = sets_[number_of(address)];
    Way& way = set.ways[set.next];
    set.next = (set.next + 1) % ways_per_set;
    if (way.value == nullptr)
      way.value = &values_.emplace_back(std::move(value));
    else
      *way.value = std::move(value);
    way.address = address;
    return *way.value;
  }

  std::size_t size() const { return values_.size(); }

private:
  // With several places for each address, few methods that call each other never drive each other out.
  static constexpr std::size_t ways_per_set = 8, set_count = max_kept / ways_per_set;
  struct Way {
    Address address = 0;
    Value* value = nullptr; // null: unused
  };
  struct Set {
    std::array<Way, ways_per_set> ways;
    std::size_t next = 0;
  };

  static std::size_t number_of(Address address) {
    constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
    return static_cast<std::size_t>(address * spread >> 32) % set_count;
  }

  std::array<Set, set_count> sets_;
  std::deque<Value> values_; // their places in memory stay
};

} // namespace clr
