#include "core/dwarf/lines.h"

#include "core/dwarf/string_section.h"

#include <algorithm>
#include <dwarf.h>
#include <limits>
#include <unordered_map>
#include <utility>

namespace clr {
namespace {

constexpr unsigned line_version = 4;
// Special opcodes: lines -5 to 8, addresses 0 to 17 further.
constexpr int line_base = -5;
constexpr unsigned line_range = 14;
constexpr unsigned opcode_base = 13;
constexpr std::uint8_t opcode_operands[opcode_base - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
// LLDB keeps lines in 27 bits and columns in 16.
constexpr std::uint32_t max_line = (1u << 27) - 1;
constexpr std::uint32_t max_column = 0xffff;

} // namespace

SplitPath split_path(std::string_view path) {
  const std::size_t at = path.find_last_of("/\\");
  if (at == path.npos) return {{}, path};
  return {path.substr(0, at == 0 ? 1 : at), path.substr(at + 1)};
}

DwarfLines::DwarfLines(const DebugModule& module)
    : module_(&module), out_(module.platform), numbers_(module.files.size()) {
  usable_.reserve(module.files.size());
  for (const std::string& file : module.files)
    usable_.push_back(is_usable_name(file) && !split_path(file).name.empty());
}

std::uint32_t DwarfLines::file_number(std::uint32_t file) const {
  return file < numbers_.size() ? numbers_[file] : 0;
}

void DwarfLines::write_files(std::span<const PlacedCode* const> unit) {
  for (const std::uint32_t file : files_) numbers_[file] = 0;
  files_.clear();
  for (const PlacedCode* placed : unit)
    for (const DebugLineRow& row : placed->code->lines)
      if (row.file < numbers_.size() && usable_[row.file] && numbers_[row.file] == 0) {
        files_.push_back(row.file);
        numbers_[row.file] = static_cast<std::uint32_t>(files_.size());
      }
  std::unordered_map<std::string_view, std::size_t> directories{{"", 0}};
  for (const std::uint32_t file : files_) {
    const std::string_view directory = split_path(module_->files[file]).directory;
    if (directories.try_emplace(directory, directories.size()).second) out_.string(shown_name(directory));
  }
  out_.u8(0);
  // LLDB gives file 0, which is no file, a place in its list only when there is another one.
  if (files_.empty()) write_file("(none)", 0);
  for (const std::uint32_t file : files_) {
    const SplitPath path = split_path(module_->files[file]);
    write_file(shown_name(path.name), directories.at(path.directory));
  }
  out_.u8(0);
}

void DwarfLines::write_file(std::string_view name, std::size_t directory) {
  out_.string(name);
  out_.uleb(directory);
  out_.uleb(0); // time of change
  out_.uleb(0); // bytes
}

std::size_t DwarfLines::add(std::span<const PlacedCode* const> unit) {
  const std::size_t offset = out_.size();
  const std::size_t begin = out_.begin_unit();
  out_.u16(line_version);
  const std::size_t header = out_.begin_unit();
  out_.u8(1); // bytes of the shortest instruction
  out_.u8(1); // operations in an instruction
  out_.u8(1); // rows are statements
  out_.u8(static_cast<std::uint8_t>(line_base));
  out_.u8(line_range);
  out_.u8(opcode_base);
  for (const std::uint8_t count : opcode_operands) out_.u8(count);
  write_files(unit);
  out_.end_unit(header);
  for (const PlacedCode* placed : unit) write_sequence(*placed);
  out_.end_unit(begin);
  return offset;
}

void DwarfLines::write_sequence(const PlacedCode& placed) {
  const std::vector<DebugLineRow>& rows = placed.code->lines;
  struct {
    std::uint32_t offset = 0, file = 1, line = 1, column = 0;
    bool statement = true;
  } state;
  bool open = false, prologue_end = false;
  std::uint32_t lowest = 0; // offset that the next row may have
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DebugLineRow& row = rows[i];
    const std::uint32_t number = file_number(row.file);
    // Code of no line needs no file; a line keeps its number when its file has no name that can be written.
    const std::uint32_t line = row.line <= max_line && row.file < numbers_.size() ? row.line : 0;
    if (row.offset < lowest || row.offset >= placed.size || (row.line != 0 && line == 0)) continue;
    prologue_end = prologue_end || row.prologue_end;
    if (i + 1 < rows.size() && rows[i + 1].offset == row.offset) continue;
    lowest = row.offset + 1;
    if (!open) {
      open = true;
      out_.u8(0);
      out_.uleb(1 + std::uint64_t{module_->platform.pointer_size});
      out_.u8(DW_LNE_set_address);
      out_.word(placed.code->start + row.offset);
      state.offset = row.offset;
    }
    if (line != 0 && number != state.file) {
      out_.u8(DW_LNS_set_file);
      out_.uleb(number);
      state.file = number;
    }
    const std::uint32_t column = row.column <= max_column && line != 0 ? row.column : 0;
    if (column != state.column) {
      out_.u8(DW_LNS_set_column);
      out_.uleb(column);
      state.column = column;
    }
    if (row.statement != state.statement) {
      out_.u8(DW_LNS_negate_stmt);
      state.statement = row.statement;
    }
    if (std::exchange(prologue_end, false)) out_.u8(DW_LNS_set_prologue_end);
    const std::uint32_t further = row.offset - state.offset;
    const std::int64_t lines = std::int64_t{line} - state.line;
    const std::uint64_t special =
        static_cast<std::uint64_t>(lines - line_base) + line_range * std::uint64_t{further};
    if (lines >= line_base && lines < line_base + static_cast<int>(line_range) &&
        special <= 0xff - opcode_base) {
      out_.u8(special + opcode_base);
    } else {
      if (further != 0) {
        out_.u8(DW_LNS_advance_pc);
        out_.uleb(further);
      }
      if (lines != 0) {
        out_.u8(DW_LNS_advance_line);
        out_.sleb(lines);
      }
      out_.u8(DW_LNS_copy);
    }
    state.offset = row.offset;
    state.line = line;
  }
  if (!open) return;
  out_.u8(DW_LNS_advance_pc);
  out_.uleb(placed.size - state.offset);
  out_.u8(0);
  out_.uleb(1);
  out_.u8(DW_LNE_end_sequence);
}

} // namespace clr
