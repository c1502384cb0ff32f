// Remembers which pages were read, so that they can be written as a minimal core.
#pragma once

#include "core/memory/memory_range.h"
#include "core/memory/memory_reader.h"

#include <unordered_set>
#include <vector>

namespace clr {

class RecordingReader final : public MemoryReader {
public:
  static constexpr std::size_t page_size = 4096;

  // `next` must outlive this.
  explicit RecordingReader(MemoryReader& next) : next_(&next) {}

  // Records each page of which at least one byte was delivered.
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Not recorded.
  std::size_t scan_some(Address address, std::span<std::byte> out) override {
    return next_->scan_some(address, out);
  }
  // Lends nothing: reads of lent bytes would be invisible, and recording all lent bytes would not be minimal.
  std::span<const std::byte> view(Address, std::size_t) override { return {}; }

  // Records these pages as if they had been read, without reading them. Many at once cost no more than one.
  void record(Address address, std::uint64_t size);

  // The recorded pages as ranges, sorted, neighbours merged.
  std::vector<MemoryRange> ranges() const;

private:
  MemoryReader* next_;
  std::unordered_set<std::uint64_t> pages_; // address / page_size
  std::vector<MemoryRange> many_;           // recorded at once
  std::size_t merge_at_ = 4096;             // so many of them; the same may be read again and again
  std::uint64_t last_ = ~std::uint64_t{0};
};

// `ranges` sorted; ranges that touch or overlap are merged, empty ones are left out.
std::vector<MemoryRange> merge_ranges(std::vector<MemoryRange> ranges);

} // namespace clr
