#include "core/memory/recording_reader.h"

#include <algorithm>
#include <utility>

namespace clr {
namespace {
// More than that are kept as a range.
constexpr std::uint64_t few_pages = 64;
} // namespace

std::size_t RecordingReader::read_some(Address address, std::span<std::byte> out) {
  const std::size_t got = next_->read_some(address, out);
  record(address, got);
  return got;
}

void RecordingReader::record(Address address, std::uint64_t size) {
  if (size == 0) return;
  const Address last_address = address + (size - 1) < address ? ~Address{0} : address + (size - 1);
  const std::uint64_t first = address / page_size;
  const std::uint64_t last = last_address / page_size;
  if (first == last && first == last_) return;
  if (last - first >= few_pages) {
    constexpr std::uint64_t most = ~std::uint64_t{0} / page_size; // all of memory would wrap to nothing
    many_.push_back({first * page_size, std::min(last - first + 1, most) * page_size});
    if (many_.size() < merge_at_) return;
    many_ = merge_ranges(std::move(many_));
    merge_at_ = std::max(merge_at_, 2 * many_.size());
    return;
  }
  for (std::uint64_t page = first; page <= last; ++page) pages_.insert(page);
  last_ = last;
}

std::vector<MemoryRange> RecordingReader::ranges() const {
  std::vector<MemoryRange> all = many_;
  all.reserve(all.size() + pages_.size());
  for (const std::uint64_t page : pages_) all.push_back({page * page_size, page_size});
  return merge_ranges(std::move(all));
}

std::vector<MemoryRange> merge_ranges(std::vector<MemoryRange> ranges) {
  std::erase_if(ranges, [](const MemoryRange& range) { return range.size == 0; });
  std::sort(ranges.begin(), ranges.end(),
            [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
  std::vector<MemoryRange> merged;
  for (const MemoryRange& range : ranges) {
    // Compares differences, not ends: a range may end at the top of the address space, where its end is 0.
    if (!merged.empty() && range.begin - merged.back().begin <= merged.back().size) {
      MemoryRange& last = merged.back();
      const std::uint64_t gap = range.begin - last.begin;
      if (range.size > last.size - gap) last.size = gap + range.size;
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

} // namespace clr
