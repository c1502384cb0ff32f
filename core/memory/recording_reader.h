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

  // Pages of which at least a byte was delivered are recorded.
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Not recorded.
  std::size_t scan_some(Address address, std::span<std::byte> out) override {
    return next_->scan_some(address, out);
  }
  // Lends nothing: what is read of a lent run of bytes could not be seen, and a recording of all of it would
  // not be minimal.
  std::span<const std::byte> view(Address, std::size_t) override { return {}; }

  // Records pages as if they had been read. Nothing is read. At most 2^20 pages a call.
  void record(Address address, std::uint64_t size);

  // Whole pages, sorted, neighbours merged.
  std::vector<MemoryRange> ranges() const;

private:
  MemoryReader* next_;
  std::unordered_set<std::uint64_t> pages_; // address / page_size
  std::uint64_t last_ = ~std::uint64_t{0};
};

// `ranges` sorted, those that touch or overlap merged, empty ones left out.
std::vector<MemoryRange> merge_ranges(std::vector<MemoryRange> ranges);

} // namespace clr
