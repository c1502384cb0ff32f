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

  // Cost, warm: no read, some 5 ns for a few bytes. Cold: 1 read of `next` for each run of unknown pages;
  // none when `next` lends them.
  // Missing memory is remembered too: asking again costs no read. When only a part of a page can be read, its
  // readable bytes are delivered and the first missing one is exact.
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Reads from `near`, without the cache, when the pages are not known and there is a `near`.
  std::size_t read_data_some(Address address, std::span<std::byte> out) override;
  // Reads without the cache.
  std::size_t scan_some(Address address, std::span<std::byte> out) override {
    return next_->scan_some(address, out);
  }
  std::optional<std::size_t> scan_together(Address address, std::span<std::byte> out) override {
    return next_->scan_together(address, out);
  }
  // Lends bytes of `next`. The cache's own pages are not lent, because clear() frees them.
  std::span<const std::byte> view(Address address, std::size_t size) override;
  LentBytes view_in_parts(Address address, std::size_t size) override {
    return next_->view_in_parts(address, size);
  }

  // Forgets everything, because the target ran.
  void clear();
  std::size_t pages() const { return count_; }

private:
  // A page with holes. Nobody has asked yet for bytes in neither set.
  struct Partial {
    std::array<std::byte, page_size> bytes;
    std::bitset<page_size> present, missing;
  };
  // A known page. One place tells all of a whole page, since most reads of a large core find none of it in
  // the CPU's cache.
  struct Slot {
    std::uint64_t key = 0;            // address / page_size + 1; 0: an empty slot
    const std::byte* whole = nullptr; // lent by next_, or in slabs_; null: in partials_
  };
  static constexpr unsigned first_bits = 6; // of the number of slots
  static constexpr std::size_t pages_per_slab = 64;

  std::size_t place_of(std::uint64_t key) const {
    constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
    return static_cast<std::size_t>(key * spread >> shift_);
  }
  const Slot* find(std::uint64_t number) const {
    for (std::size_t i = place_of(number + 1); slots_[i].key != 0; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].key == number + 1) return &slots_[i];
    return nullptr;
  }
  std::size_t read_slow(Address address, std::span<std::byte> out);
  const std::byte* fill(std::uint64_t number, std::size_t wanted);
  void keep(std::uint64_t number, const std::byte* bytes);
  void set(std::uint64_t number, const std::byte* whole);
  void insert(const Slot& slot);
  std::size_t read_partial(std::uint64_t number, Partial& page, std::size_t offset, std::span<std::byte> out);

  MemoryReader* next_;
  MemoryReader* near_;
  std::vector<Slot> slots_ =
      std::vector<Slot>(std::size_t{1} << first_bits); // open addressing; the size is a power of two
  unsigned shift_ = 64 - first_bits;
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Partial>> partials_; // by address / page_size
  std::vector<std::unique_ptr<std::byte[]>> slabs_;                      // of pages_per_slab pages each
  std::size_t free_in_slab_ = 0; // unused pages at the end of the last slab
};

} // namespace clr
