#include "core/publish/dwarf_units.h"

#include <dwarf.h>
#include <span>
#include <unordered_map>

namespace clr {
namespace {

class UnitWriter {
public:
  UnitWriter(const DebugModule& module, DwarfUnits& out) : module_(&module), out_(&out) {}

  void write(std::span<const PlacedCode* const> unit) {
    write_ranges(unit);
    out_->entries.begin_unit();
    out_->entries.write(unit_entry(unit));
    for (const PlacedCode* placed : unit) write_function(*placed);
    out_->entries.end_children();
    out_->entries.end_unit();
  }

private:
  void write_ranges(std::span<const PlacedCode* const> unit) {
    ranges_at_ = out_->ranges.size();
    for (const PlacedCode* placed : unit) {
      out_->ranges.word(placed->code->start);
      out_->ranges.word(placed->code->start + placed->size);
    }
    out_->ranges.word(0);
    out_->ranges.word(0);
  }

  Die unit_entry(std::span<const PlacedCode* const> unit) {
    Die die(DW_TAG_compile_unit, true);
    const bool lines = has_lines(unit);
    const std::string_view file = lines ? first_file(unit) : std::string_view();
    if (!file.empty()) {
      die.string(DW_AT_name, file);
      // LLDB takes the style of the paths of a unit, Windows or not, from this one.
      die.string(DW_AT_comp_dir, split_path(file).directory);
    } else if (is_usable_name(unit.front()->code->unit)) {
      die.string(DW_AT_name, unit.front()->code->unit);
    }
    if (lines) die.section(DW_AT_stmt_list, out_->lines.add(unit));
    // Lists of locations count from it.
    die.address(DW_AT_low_pc, 0);
    die.section(DW_AT_ranges, ranges_at_);
    return die;
  }

  static bool has_lines(std::span<const PlacedCode* const> unit) {
    for (const PlacedCode* placed : unit)
      if (!placed->code->lines.empty()) return true;
    return false;
  }

  std::string_view first_file(std::span<const PlacedCode* const> unit) const {
    for (const PlacedCode* placed : unit)
      for (const DebugLineRow& row : placed->code->lines)
        if (row.line != 0 && row.file < module_->files.size() && is_usable_name(module_->files[row.file]))
          return module_->files[row.file];
    return {};
  }

  void write_function(const PlacedCode& placed) {
    const DebugCode& code = *placed.code;
    Die die(DW_TAG_subprogram);
    // Frames show the linkage name; `breakpoint set -n` looks for either.
    if (is_usable_name(code.name)) die.string(DW_AT_name, code.name);
    if (is_usable_name(code.full_name)) die.string(DW_AT_linkage_name, code.full_name);
    die.address(DW_AT_low_pc, code.start);
    die.number(DW_AT_high_pc, placed.size);
    out_->entries.write(die);
  }

  const DebugModule* module_;
  DwarfUnits* out_;
  std::size_t ranges_at_ = 0;
};

} // namespace

DwarfUnits write_units(const DebugModule& module, const PlacedModule& placed) {
  DwarfUnits out(module);
  std::vector<std::vector<const PlacedCode*>> units;
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (const PlacedCode& code : placed.code) {
    if (code.code->lines.empty() && code.code->variables.empty()) continue;
    const auto [it, fresh] = by_name.try_emplace(code.code->unit, units.size());
    if (fresh) units.emplace_back();
    units[it->second].push_back(&code);
  }
  UnitWriter writer(module, out);
  for (const auto& unit : units) {
    if (out.entries.full() || out.lines.section().size() > max_debug_section) break;
    writer.write(unit);
  }
  return out;
}

} // namespace clr
