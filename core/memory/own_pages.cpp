#include "core/memory/own_pages.h"

#include <algorithm>
#include <sys/mman.h>
#include <utility>

namespace clr {
namespace {

void release(std::byte* at, std::uint64_t size) {
  if (size != 0) ::munmap(at, static_cast<std::size_t>(size));
}

} // namespace

OwnPages::OwnPages(std::uint64_t size) {
  if (size == 0 || size > ~std::uint64_t{0} / 2) return;
  size = (size + large_page - 1) / large_page * large_page;
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(size + large_page), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  auto* const room = static_cast<std::byte*>(at);
  const std::uint64_t front = (large_page - reinterpret_cast<std::uintptr_t>(room) % large_page) % large_page;
  release(room, front);
  release(room + front + size, large_page - front);
  data_ = room + front;
  size_ = size;
}

OwnPages::~OwnPages() {
  release(data_, size_);
}

OwnPages::OwnPages(OwnPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

OwnPages& OwnPages::operator=(OwnPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void OwnPages::prefer_large(std::uint64_t begin, std::uint64_t size) {
  const std::uint64_t from = begin / large_page * large_page,
                      until = std::min((begin + size + large_page - 1) / large_page * large_page, size_);
#ifdef MADV_HUGEPAGE
  if (from < until) ::madvise(data_ + from, static_cast<std::size_t>(until - from), MADV_HUGEPAGE);
#endif
}

void OwnPages::make(std::uint64_t begin, std::uint64_t size) {
#ifdef MADV_POPULATE_WRITE
  ::madvise(data_ + begin, static_cast<std::size_t>(size), MADV_POPULATE_WRITE);
#endif
}

} // namespace clr
