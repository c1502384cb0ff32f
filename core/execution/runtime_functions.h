// RUNTIME_FUNCTION tables, sorted by begin RVA: search in them, and the size of the unwind data behind them.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (RuntimeFunctionLookup,
// BinaryThenLinearSearch); src/coreclr/vm/codeman.cpp (GetUnwindDataBlob).
#pragma once

#include "core/isa/architecture.h"
#include "core/target/target.h"

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace clr {

// The number of entries at which the runtime's binary search changes to a linear one.
constexpr std::uint32_t linear_search_threshold = 10;

// The binary part of the search for the last index in [first, last] whose value is at most `key`; the values
// must not decrease. Returns a range [low, high] of at most linear_search_threshold + 1 candidates.
template<std::invocable<std::uint32_t> ValueAt>
std::pair<std::uint32_t, std::uint32_t> narrow_search(std::uint32_t first, std::uint32_t last,
                                                      std::uint64_t key, const ValueAt& value_at) {
  while (last - first > linear_search_threshold) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (key < value_at(middle))
      last = middle - 1;
    else
      first = middle;
  }
  return {first, last};
}

// The last index in [first, last] whose value is at most `key`; nothing when all values are greater. Calls
// `value_at(i)` at most log2(n) + 10 times.
template<std::invocable<std::uint32_t> ValueAt>
std::optional<std::uint32_t> binary_then_linear(std::uint32_t first, std::uint32_t last, std::uint64_t key,
                                                const ValueAt& value_at) {
  const auto [low, high] = narrow_search(first, last, key, value_at);
  for (std::uint32_t i = high;; --i) {
    if (value_at(i) <= key) return i;
    if (i == low) return std::nullopt;
  }
}

class RuntimeFunctions {
public:
  // Resolves the layout of RuntimeFunction. No reads.
  explicit RuntimeFunctions(const Target& target);

  std::uint64_t stride() const { return stride_; }
  // Address of entry `index` of the table at `table`. No reads.
  Address entry(Address table, std::uint32_t index) const { return table + index * stride_; }

  // One read each. The result of begin() has no Thumb bit.
  std::uint32_t begin(Address table, std::uint32_t index) const;
  std::uint32_t unwind_data(Address table, std::uint32_t index) const;
  // An entry; `end` is 0 when entries have none.
  struct Extent {
    std::uint32_t begin = 0, end = 0;
    std::uint32_t unwind_data = 0;
  };
  // The whole entry. 1 read.
  Extent at(Address table, std::uint32_t index) const;
  // begin() of `count` entries, starting with `first`. 1 read.
  std::vector<std::uint32_t> begins(Address table, std::uint32_t first, std::uint32_t count) const;
  // The same, whole. 1 read.
  std::vector<Extent> extents(Address table, std::uint32_t first, std::uint32_t count) const;
  // The same, given to `visit` one by one instead of in a list, because most methods have few functions. 1
  // read.
  template<std::invocable<Extent> Visit>
  void for_each(Address table, std::uint32_t first, std::uint32_t count, const Visit& visit) const {
    std::array<std::byte, 256> few;
    std::vector<std::byte> many;
    const auto size = static_cast<std::size_t>(count * stride_);
    if (size > few.size()) many.resize(size);
    const std::span<std::byte> raw = size > few.size() ? std::span(many) : std::span(few).first(size);
    target_->read_bytes(entry(table, first), raw);
    for (std::size_t at = 0; at < size; at += static_cast<std::size_t>(stride_))
      visit(extent(raw.subspan(at)));
  }

  // The entry that may cover `rva` (Thumb bit removed): the last one that begins at or before it; nothing
  // before the first one. An `rva` behind the entry's end is found too: see length(). Cost: about log2(count)
  // - 2 reads.
  std::optional<std::uint32_t> find(Address table, std::uint32_t count, std::uint32_t rva) const;

  // Bytes of code of entry `index`; `image_base` is the base of its RVAs. 1 or 2 reads.
  std::uint64_t length(Address table, std::uint32_t index, Address image_base) const {
    return length(at(table, index), entry(table, index), image_base);
  }
  // The same for the entry at `entry`, which was read already. 1 read, none when entries have ends.
  std::uint64_t length(const Extent& function, Address entry, Address image_base) const;

  // Size of the unwind data at `address` (GC info follows it in ReadyToRun images). 1 or 2 reads. Throws
  // Error{unsupported_contract} for a CPU whose format is not known.
  std::uint64_t unwind_data_size(Address address) const;

  // True when the entry is a later fragment of a function that is too large for one record (its unwind codes
  // begin with end_c).
  bool is_fragment(Address table, std::uint32_t index, Address image_base) const;

private:
  Extent extent(std::span<const std::byte> record) const;
  const UnwindDataForm& form() const { return architecture_->unwind_data; }

  const Target* target_;
  std::uint64_t stride_;
  Address begin_, unwind_data_;
  std::optional<Address> end_;
  const Architecture* architecture_; // of the target
  std::uint32_t address_bits_;       // without the mark of code pointers
};

} // namespace clr
