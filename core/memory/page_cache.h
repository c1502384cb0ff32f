// Keeps the pages that were read, for sources whose reads are expensive (a live process).
#pragma once

#include "core/memory/memory_reader.h"

#include <array>
#include <bitset>
#include <memory>
#include <unordered_map>
#include <vector>

namespace clr {

class PageCache final : public MemoryReader {
public:
  static constexpr std::size_t page_size = 4096;
  // 256 MB. A full cache forgets everything, because the walk that filled it does not come back.
  static constexpr std::size_t max_pages = 65536;
  // The largest number of missing pages that one read of the source fetches.
  static constexpr std::size_t max_pages_per_read = 64;

  // `near` reads data at almost no cost, so that pages of instructions need not be fetched for it. `next` and
  // `near` must outlive this; `near` may be null.
  explicit PageCache(MemoryReader& next, MemoryReader* near = nullptr) : next_(&next), near_(near) {}

  // Cost, warm: no read, some 5 ns for a few bytes. Cold: 1 read of `next` for each run of unknown pages.
  // Missing memory is remembered too: asking again costs no read. When only a part of a page can be read, its
  // readable bytes are delivered and the first missing one is exact.
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Reads from `near`, without the cache, when the pages are not known and there is a `near`.
  std::size_t read_data_some(Address address, std::span<std::byte> out) override;
  // Reads without the cache.
  std::size_t scan_some(Address address, std::span<std::byte> out) override {
    return next_->scan_some(address, out);
  }
  // Lends bytes of `next`. The cache's own pages are not lent, because clear() frees them.
  std::span<const std::byte> view(Address address, std::size_t size) override;

  // Forgets everything, because the target ran.
  void clear();
  std::size_t pages() const { return pages_.size(); }

private:
  // A page with holes. Nobody has asked yet for bytes in neither set.
  struct Partial {
    std::array<std::byte, page_size> bytes;
    std::bitset<page_size> present, missing;
  };
  struct Page {
    const std::byte* whole = nullptr; // lent by next_, or in slabs_
    std::unique_ptr<Partial> partial; // when whole is null
  };
  struct Shortcut {
    std::uint64_t number = 0;
    const std::byte* whole = nullptr; // null: empty
  };
  static constexpr std::size_t shortcuts = 1024; // direct-mapped by page number
  static constexpr std::size_t pages_per_slab = 64;

  std::size_t read_slow(Address address, std::span<std::byte> out);
  Page& fill(std::uint64_t number, std::size_t wanted);
  Page& keep(std::uint64_t number, const std::byte* bytes);
  std::size_t read_partial(std::uint64_t number, Partial& page, std::size_t offset, std::span<std::byte> out);

  MemoryReader* next_;
  MemoryReader* near_;
  std::unordered_map<std::uint64_t, Page> pages_;   // by address / page_size
  std::vector<std::unique_ptr<std::byte[]>> slabs_; // of pages_per_slab pages each
  std::size_t free_in_slab_ = 0;                    // unused pages at the end of the last slab
  std::array<Shortcut, shortcuts> shortcuts_{};
};

} // namespace clr
