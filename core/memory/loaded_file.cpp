#include "core/memory/loaded_file.h"

#include "core/memory/error.h"
#include "core/memory/read_at.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace clr {
namespace {

constexpr std::size_t cache_line = 64;

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
  const std::uint64_t room = (size + cache_line - 1) / cache_line * cache_line;
  file.bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(cache_line, room)));
  if (!file.bytes_) throw std::bad_alloc();
  errno = 0;
  file.size_ = read_at(opened.descriptor(), {file.bytes_.get(), static_cast<std::size_t>(size)}, 0);
  if (file.size_ < size && errno != 0)
    throw Error(ErrorKind::io, fmt::format("cannot read {}: {}", file.path_, std::strerror(errno)));
  return file;
}

} // namespace clr
