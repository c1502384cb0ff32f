#include "core/dwarf/bare_units.h"

#include <algorithm>
#include <dwarf.h>
#include <span>

namespace clr {
namespace {

// LLDB reads a unit as a whole, to name a frame: few functions. To find a name it reads all.
constexpr std::size_t codes_of_unit = 256, codes_of_name_unit = 8192;
// Entries that a function has in both kinds, as a rule.
constexpr std::size_t entries_of_code = 3;
// A unit that says nothing of its code is searched for it. No code is here.
constexpr Address nowhere = 1;

using Functions = std::span<const PlacedCode* const>;

std::string_view shown_name(const DebugCode& code) {
  if (is_usable_name(code.full_name)) return code.full_name;
  for (const std::string& alias : code.aliases)
    if (is_usable_name(alias)) return alias;
  return is_usable_name(code.name) ? std::string_view(code.name) : std::string_view();
}

// At most, while they share none.
std::size_t bytes_of_names(const DebugCode& code) {
  std::size_t size = code.full_name.size() + code.name.size() + 2;
  for (const std::string& alias : code.aliases) size += alias.size() + 1;
  return size;
}

class BareUnits {
public:
  BareUnits(const DebugModule& module, DwarfUnits& out) : module_(&module), out_(&out) {}

  void write(Functions functions) {
    const std::size_t ranges = out_->add_ranges(functions);
    Die unit(DW_TAG_compile_unit, true);
    add_name(unit);
    unit.address(DW_AT_low_pc, 0).section(DW_AT_ranges, ranges);
    begin(unit);
    for (const PlacedCode* placed : functions)
      if (const std::string_view name = shown_name(*placed->code); !name.empty()) add(*placed, name);
    end();
  }

  void write_names(Functions functions) {
    Die unit(DW_TAG_compile_unit, true);
    add_name(unit);
    begin(unit.address(DW_AT_low_pc, nowhere).number(DW_AT_high_pc, 1));
    for (const PlacedCode* placed : functions) {
      const DebugCode& code = *placed->code;
      const std::string_view shown = shown_name(code);
      const auto add_other = [&](std::string_view name) {
        if (name != shown && is_usable_name(name)) add(*placed, name);
      };
      for (std::size_t i = 0; i < code.aliases.size() && i < max_aliases; ++i) add_other(code.aliases[i]);
      if (code.name != code.full_name) add_other(code.name);
    }
    end();
  }

private:
  void add_name(Die& unit) const {
    if (is_usable_name(module_->file_name)) unit.string(DW_AT_name, module_->file_name);
  }

  void begin(const Die& unit) {
    out_->entries.begin_unit();
    out_->entries.write(unit);
  }

  void end() {
    out_->entries.end_children();
    out_->entries.end_unit();
  }

  void add(const PlacedCode& placed, std::string_view name) {
    if (const std::uint32_t at = out_->entries.append_string(name); at != 0)
      out_->entries.write_function(at, placed.code->start, placed.size);
  }

  const DebugModule* module_;
  DwarfUnits* out_;
};

} // namespace

bool is_bare(const DebugCode& code) {
  return code.function && code.lines.empty() && code.variables.empty();
}

void write_bare_units(const DebugModule& module, const PlacedModule& placed, DwarfUnits& out) {
  std::vector<const PlacedCode*> bare;
  bare.reserve(placed.code.size());
  std::size_t names = 0;
  for (const PlacedCode& code : placed.code) {
    if (!is_bare(*code.code)) continue;
    bare.push_back(&code);
    names += bytes_of_names(*code.code);
  }
  out.entries.reserve_functions(bare.size() * entries_of_code);
  out.entries.reserve_strings(names);
  BareUnits units(module, out);
  const auto each = [&](std::size_t codes, auto write) {
    for (std::size_t at = 0; at < bare.size() && !out.entries.full(); at += codes)
      (units.*write)(Functions(bare).subspan(at, std::min(codes, bare.size() - at)));
  };
  each(codes_of_unit, &BareUnits::write);
  each(codes_of_name_unit, &BareUnits::write_names);
}

} // namespace clr
