#include "core/memory/page_cache.h"

#include <algorithm>

namespace clr {

std::size_t PageCache::read_some(Address address, std::span<std::byte> out) {
  const std::uint64_t number = address / page_size;
  const std::size_t offset = address % page_size;
  const Shortcut& shortcut = shortcuts_[number % shortcuts];
  if (shortcut.whole != nullptr && shortcut.number == number && out.size() <= page_size - offset) {
    if (!out.empty()) std::memcpy(out.data(), shortcut.whole + offset, out.size());
    return out.size();
  }
  return read_slow(address, out);
}

std::size_t PageCache::read_data_some(Address address, std::span<std::byte> out) {
  if (near_ != nullptr && !pages_.contains(address / page_size) &&
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

    const auto known = pages_.find(number);
    Page& page =
        known != pages_.end() ? known->second : fill(number, 1 + (rest - here + page_size - 1) / page_size);
    if (page.whole == nullptr) {
      const std::size_t got = read_partial(number, *page.partial, offset, out.subspan(done, here));
      done += got;
      if (got < here) break;
      continue;
    }
    shortcuts_[number % shortcuts] = {number, page.whole};
    std::memcpy(out.data() + done, page.whole + offset, here);
    done += here;
  }
  return done;
}

PageCache::Page& PageCache::keep(std::uint64_t number, const std::byte* bytes) {
  if (free_in_slab_ == 0) {
    slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(pages_per_slab * page_size));
    free_in_slab_ = pages_per_slab;
  }
  std::byte* const at = slabs_.back().get() + (pages_per_slab - free_in_slab_--) * page_size;
  std::memcpy(at, bytes, page_size);
  Page& page = pages_[number];
  page.whole = at;
  return page;
}

// Reads the page and, when `wanted` is more than 1, those pages after it that are not known either.
PageCache::Page& PageCache::fill(std::uint64_t number, std::size_t wanted) {
  if (pages_.size() >= max_pages) clear();
  const Address begin = number * page_size;
  if (const auto lent = next_->view(begin, page_size); lent.size() == page_size) {
    Page& page = pages_[number];
    page.whole = lent.data();
    return page;
  }

  const std::uint64_t last_number = ~std::uint64_t{0} / page_size;
  std::size_t run = 1;
  while (run < std::min(wanted, max_pages_per_read) && number + run <= last_number &&
         !pages_.contains(number + run))
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
    pages_[number + whole_pages].partial = std::move(partial);
  }
  return pages_.find(number)->second;
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
  pages_.clear();
  slabs_.clear();
  free_in_slab_ = 0;
  shortcuts_.fill({});
}

} // namespace clr
