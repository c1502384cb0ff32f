#include "core/memory/loaded_file.h"

#include "core/memory/error.h"
#include "core/memory/read_at.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace clr {
namespace {

constexpr std::size_t cache_line = 64;

// Where data begins at `offset` or behind it, and where it ends: a file system need not store zeros, and half
// a gigabyte of them costs whoever made the file nothing. `size`, twice, when there is no more.
std::pair<std::uint64_t, std::uint64_t> data_behind(int file, std::uint64_t offset, std::uint64_t size) {
  const off_t begin = ::lseek(file, static_cast<off_t>(offset), SEEK_DATA);
  if (begin < 0) return errno == ENXIO ? std::pair(size, size) : std::pair(offset, size);
  const off_t end = ::lseek(file, begin, SEEK_HOLE);
  const auto from = std::min(static_cast<std::uint64_t>(begin), size);
  return {from, end <= begin ? size : std::min(static_cast<std::uint64_t>(end), size)};
}

// Fills `out`, which is zero, with the file's bytes; returns how many there are.
std::size_t read_data(int file, std::span<std::byte> out) {
  std::uint64_t done = 0;
  while (done < out.size()) {
    const auto [begin, end] = data_behind(file, done, out.size());
    const auto part = out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    errno = 0;
    const std::size_t got = read_at(file, part, begin);
    if (got < part.size()) return static_cast<std::size_t>(begin) + got;
    done = end;
  }
  // Behind the end of a file that was cut meanwhile there is no data either.
  struct ::stat now {};
  return ::fstat(file, &now) == 0 ? std::min(out.size(), static_cast<std::size_t>(now.st_size)) : 0;
}

} // namespace

LoadedFile LoadedFile::open(const std::string& path, NamedBy named_by) {
  return read(HostFile::open(path, named_by), named_by);
}

void LoadedFile::check_size(const HostFile& file, NamedBy named_by) {
  const std::uint64_t limit = named_by == NamedBy::target ? max_target_file : max_user_file;
  if (static_cast<std::uint64_t>(file.status().st_size) > limit)
    throw Error(ErrorKind::io, fmt::format("{} has more than {} bytes", file.path(), limit));
}

LoadedFile LoadedFile::read(const HostFile& opened, NamedBy named_by) {
  LoadedFile file;
  file.path_ = opened.path();
  file.changed_ = opened.status().st_ctim.tv_sec;
  const auto size = static_cast<std::uint64_t>(opened.status().st_size);
  check_size(opened, named_by);
  if (size == 0) return file;
  if (size >= OwnPages::large_page) {
    file.pages_ = OwnPages(size);
    if (file.pages_.data() == nullptr) throw std::bad_alloc();
    file.size_ = read_data(opened.descriptor(), {file.pages_.data(), static_cast<std::size_t>(size)});
  } else {
    const std::uint64_t room = (size + cache_line - 1) / cache_line * cache_line;
    file.bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(cache_line, room)));
    if (!file.bytes_) throw std::bad_alloc();
    errno = 0;
    file.size_ = read_at(opened.descriptor(), {file.bytes_.get(), static_cast<std::size_t>(size)}, 0);
  }
  if (file.size_ < size && errno != 0)
    throw Error(ErrorKind::io, fmt::format("cannot read {}: {}", file.path_, std::strerror(errno)));
  return file;
}

} // namespace clr
