// The lines of a text file of this host, read piece by piece: it may be large, and anybody may have written
// it.
#pragma once

#include "core/memory/host_file.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace clr {

class TextLines {
public:
  // Opens the file at `path` as HostFile::open does. Throws Error{io} also when it has more than `max_size`
  // bytes. A line of more than `max_line` bytes is cut one byte behind that, so that its length tells.
  TextLines(const std::string& path, std::size_t max_line, std::uint64_t max_size);

  // The next line without its end (LF, or the end of the file), valid until the next call; nothing at the
  // end. Throws Error{io} when the system cannot read on, and when the file has grown beyond its limit.
  std::optional<std::string_view> next();
  // Number of the line that next() returned last, from 1.
  std::size_t number() const { return number_; }

private:
  bool fill();

  HostFile file_;
  std::size_t max_line_;
  std::uint64_t max_size_, read_ = 0;
  std::string piece_, line_;
  std::string_view rest_; // of piece_
  std::size_t number_ = 0;
};

} // namespace clr
