#include "core/memory/partial_file.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <new>
#include <sys/stat.h>
#include <utility>

namespace clr {
namespace {

bool is_unchanged(const HostFile& file) {
  struct ::stat now {};
  const struct ::stat& then = file.status();
  return ::fstat(file.descriptor(), &now) == 0 && now.st_size == then.st_size &&
         now.st_mtim.tv_sec == then.st_mtim.tv_sec && now.st_mtim.tv_nsec == then.st_mtim.tv_nsec;
}

} // namespace

PartialFile::PartialFile(HostFile file) : file_(std::move(file)) {
  const auto size = static_cast<std::size_t>(file_->status().st_size);
  if (size == 0) return;
  room_ = OwnPages(size);
  if (room_.data() == nullptr) throw std::bad_alloc();
  bytes_ = {room_.data(), size};
  known_.resize((size + block_size - 1) / block_size);
}

std::span<const std::byte> PartialFile::bytes(std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  const auto wanted = bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  if (wanted.empty() || !file_) return wanted;
  const std::uint64_t end = (offset + size + block_size - 1) / block_size;
  for (std::uint64_t block = offset / block_size; block < end; ++block) {
    if (known_[block]) continue;
    std::uint64_t next = block + 1;
    while (next < end && !known_[next]) ++next;
    if (!read_blocks(block, next)) return {};
    block = next;
  }
  return wanted;
}

LentBytes PartialFile::lend(std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  return {bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)),
          file_ ? this : nullptr, offset};
}

// Reads the blocks [first, end).
bool PartialFile::read_blocks(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t begin = first * block_size,
                      until = std::min<std::uint64_t>(end * block_size, bytes_.size());
  const std::span<std::byte> to(room_.data() + begin, static_cast<std::size_t>(until - begin));
  if (to.size() >= large_run) room_.prefer_large(begin, to.size());
  if (read_at(file_->descriptor(), to, begin) != to.size() || !is_unchanged(*file_)) return false;
  std::fill(known_.begin() + static_cast<std::ptrdiff_t>(first),
            known_.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{1});
  return true;
}

} // namespace clr
