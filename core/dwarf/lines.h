// The section .debug_line: which source line each instruction belongs to.
// Source: DWARF 4 section 6.2.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/dwarf/placed_code.h"

#include <span>
#include <string_view>
#include <vector>

namespace clr {

// The directory of a path with slashes or backslashes, without the last of them ("/src", "C:\src"; "/" for
// "/a"), empty when it has none; and the name behind it.
struct SplitPath {
  std::string_view directory, name;
};
SplitPath split_path(std::string_view path);

// .debug_line: a program for each unit, a sequence for each code.
class DwarfLines {
public:
  explicit DwarfLines(const DebugModule& module);

  // The offset of a program for the code of one unit, ascending. Rows that are out of order, outside of the
  // code or of a file that the module does not list are left out; of several at one offset the last holds. A
  // row of a file without a usable name has its line and no file (0).
  std::size_t add(std::span<const PlacedCode* const> unit);
  const DwarfBytes& section() const { return out_; }
  // The number of a file of the module in the program that was added last; 0: it is not there.
  std::uint32_t file_number(std::uint32_t file) const;

private:
  // The file and directory tables of the unit's header; numbers_ becomes valid for its files.
  void write_files(std::span<const PlacedCode* const> unit);
  void write_file(std::string_view name, std::size_t directory);
  void write_sequence(const PlacedCode& placed);

  const DebugModule* module_;
  DwarfBytes out_;
  std::vector<bool> usable_;           // files whose path is a name
  std::vector<std::uint32_t> files_;   // of the current unit
  std::vector<std::uint32_t> numbers_; // of the module's files in the current unit; 0: not in it
};

} // namespace clr
