#include "core/memory/page_cache.h"

#include <algorithm>

namespace clr {
namespace {

// Most reads are of one number, for which a call of the library costs more than the copy.
void copy(std::byte* to, const std::byte* from, std::size_t size) {
  switch (size) {
  case 8:
    std::memcpy(to, from, 8);
    break;
  case 4:
    std::memcpy(to, from, 4);
    break;
  case 0: // `to` may be null
    break;
  default:
    std::memcpy(to, from, size);
  }
}

} // namespace

std::size_t PageCache::read_some(Address address, std::span<std::byte> out) {
  const std::size_t offset = address % page_size;
  const Slot* const slot = find(address / page_size);
  if (slot == nullptr || slot->whole == nullptr || out.size() > page_size - offset)
    return read_slow(address, out);
  copy(out.data(), slot->whole + offset, out.size());
  return out.size();
}

std::size_t PageCache::read_data_some(Address address, std::span<std::byte> out) {
  if (near_ != nullptr && find(address / page_size) == nullptr &&
      near_->read_some(address, out) == out.size())
    return out.size();
  return read_some(address, out);
}

std::size_t PageCache::read_slow(Address address, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break; // past the end of the address space
    const std::uint64_t number = at / page_size;
    const std::size_t offset = at % page_size;
    const std::size_t rest = out.size() - done;
    const std::size_t here = std::min(rest, page_size - offset);

    const Slot* const known = find(number);
    const std::byte* const whole =
        known != nullptr ? known->whole : fill(number, 1 + (rest - here + page_size - 1) / page_size);
    if (whole == nullptr) {
      const std::size_t got = read_partial(number, *partials_.at(number), offset, out.subspan(done, here));
      done += got;
      if (got < here) break;
      continue;
    }
    std::memcpy(out.data() + done, whole + offset, here);
    done += here;
  }
  return done;
}

void PageCache::keep(std::uint64_t number, const std::byte* bytes) {
  if (free_in_slab_ == 0) {
    slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(pages_per_slab * page_size));
    free_in_slab_ = pages_per_slab;
  }
  std::byte* const at = slabs_.back().get() + (pages_per_slab - free_in_slab_--) * page_size;
  std::memcpy(at, bytes, page_size);
  set(number, at);
}

// The page must not be known.
void PageCache::set(std::uint64_t number, const std::byte* whole) {
  // Long probes begin at a load of two thirds.
  if (3 * (count_ + 1) > 2 * slots_.size()) {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    for (const Slot& slot : old)
      if (slot.key != 0) insert(slot);
  }
  insert({number + 1, whole});
  ++count_;
}

void PageCache::insert(const Slot& slot) {
  std::size_t i = place_of(slot.key);
  while (slots_[i].key != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = slot;
}

// Reads the page and, when `wanted` is more than 1, those pages after it that are not known either. Returns
// its bytes; null when it has holes.
const std::byte* PageCache::fill(std::uint64_t number, std::size_t wanted) {
  if (count_ >= max_pages) clear();
  const Address begin = number * page_size;
  if (const auto lent = next_->view(begin, page_size); lent.size() == page_size) {
    set(number, lent.data());
    return lent.data();
  }

  const std::uint64_t last_number = ~std::uint64_t{0} / page_size;
  std::size_t run = 1;
  while (run < std::min(wanted, max_pages_per_read) && number + run <= last_number &&
         find(number + run) == nullptr)
    ++run;
  std::vector<std::byte> bytes(run * page_size);
  const std::size_t got = next_->read_some(begin, bytes);

  const std::size_t whole_pages = got / page_size;
  for (std::size_t i = 0; i < whole_pages; ++i) keep(number + i, bytes.data() + i * page_size);
  if (whole_pages < run) {
    auto partial = std::make_unique<Partial>();
    const std::size_t present = got % page_size;
    std::memcpy(partial->bytes.data(), bytes.data() + whole_pages * page_size, present);
    for (std::size_t i = 0; i < present; ++i) partial->present.set(i);
    partial->missing.set(present);
    partials_[number + whole_pages] = std::move(partial);
    set(number + whole_pages, nullptr);
  }
  return find(number)->whole;
}

std::size_t PageCache::read_partial(std::uint64_t number, Partial& page, std::size_t offset,
                                    std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t at = offset + done;
    if (page.present.test(at)) {
      out[done++] = page.bytes[at];
      continue;
    }
    if (page.missing.test(at)) break;
    const std::span<std::byte> rest = std::span(page.bytes).subspan(at);
    const std::size_t got = next_->read_some(number * page_size + at, rest);
    for (std::size_t i = 0; i < got; ++i) page.present.set(at + i);
    if (at + got < page_size) page.missing.set(at + got);
  }
  return done;
}

std::span<const std::byte> PageCache::view(Address address, std::size_t size) {
  return next_->view(address, size);
}

void PageCache::clear() {
  slots_.assign(std::size_t{1} << first_bits, {});
  shift_ = 64 - first_bits;
  count_ = 0;
  partials_.clear();
  slabs_.clear();
  free_in_slab_ = 0;
}

} // namespace clr
