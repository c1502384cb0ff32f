#include "core/memory/text_lines.h"

#include "core/memory/error.h"
#include "core/memory/read_at.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <span>

namespace clr {
namespace {

constexpr std::size_t piece_size = 64 * 1024; // bytes

} // namespace

TextLines::TextLines(const std::string& path, std::size_t max_line, std::uint64_t max_size)
    : file_(HostFile::open(path)), max_line_(max_line), max_size_(max_size) {
  if (static_cast<std::uint64_t>(file_.status().st_size) > max_size)
    throw Error(ErrorKind::io, fmt::format("{} has more than {} bytes", path, max_size));
}

// The next piece of the file; false at its end.
bool TextLines::fill() {
  piece_.resize(piece_size);
  errno = 0;
  const std::size_t got = read_at(file_.descriptor(), std::as_writable_bytes(std::span(piece_)), read_);
  if (got == 0 && errno != 0)
    throw Error(ErrorKind::io, fmt::format("cannot read {}: {}", file_.path(), std::strerror(errno)));
  read_ += got;
  if (read_ > max_size_)
    throw Error(ErrorKind::io, fmt::format("{} has more than {} bytes", file_.path(), max_size_));
  rest_ = std::string_view(piece_).substr(0, got);
  return got != 0;
}

std::optional<std::string_view> TextLines::next() {
  line_.clear();
  for (bool began = false;; began = true) {
    if (rest_.empty() && !fill()) {
      if (!began) return std::nullopt;
      break;
    }
    const std::size_t end = rest_.find('\n');
    const std::string_view part = rest_.substr(0, end);
    line_.append(part.substr(0, max_line_ + 1 - std::min(line_.size(), max_line_ + 1)));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (end != std::string_view::npos) break;
  }
  ++number_;
  return line_;
}

} // namespace clr
