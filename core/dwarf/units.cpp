#include "core/dwarf/units.h"

#include "core/dwarf/bare_units.h"
#include "core/dwarf/locations.h"
#include "core/dwarf/scope_tree.h"
#include "core/dwarf/types.h"

#include <algorithm>
#include <dwarf.h>
#include <optional>
#include <span>
#include <unordered_map>

namespace clr {
namespace {

// Offset of the entry within its class that declares a function.
using Declarations = std::unordered_map<const PlacedCode*, std::size_t>;

bool is_this(const DebugVariable& variable) {
  return variable.parameter && variable.artificial && variable.name == "this";
}

class UnitWriter {
public:
  UnitWriter(const DebugModule& module, const DwarfTypes& types, DwarfUnits& out)
      : module_(&module), types_(&types), out_(&out) {}

  // `declarations`: of the functions in their classes, one for each code; nothing for those without.
  void write(std::span<const PlacedCode* const> unit, const Declarations& declarations) {
    out_->entries.begin_unit();
    out_->entries.write(unit_entry(unit));
    for (const PlacedCode* placed : unit) {
      if (out_->entries.full()) break;
      const auto declaration = declarations.find(placed);
      write_function(*placed,
                     declaration == declarations.end() ? std::nullopt : std::optional(declaration->second));
    }
    out_->entries.end_children();
    out_->entries.end_unit();
  }

private:
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
    die.section(DW_AT_ranges, out_->add_ranges(unit));
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

  // Frames show the whole name. LLDB 14 to 22 take it from the linkage name; LLDB 23 does so only when that
  // is mangled as those of C++ are, and else takes the first DW_AT_name. Breakpoints find both names: the
  // short one stands in a declaration, which comes last, because LLDB's index of names keeps the last
  // DW_AT_name.
  void write_function(const PlacedCode& placed, std::optional<std::size_t> in_class) {
    const DebugCode& code = *placed.code;
    const std::optional<std::size_t> declaration = in_class ? in_class : declare(code);
    const VariableScope scope = scope_tree(code.variables, placed.size);
    Die die(DW_TAG_subprogram, !code.variables.empty());
    if (is_usable_name(code.full_name)) {
      die.unique_string(DW_AT_name, code.full_name);
      if (code.function) die.same_string(DW_AT_linkage_name);
    } else if (!declaration && code.function && is_usable_name(code.name)) {
      die.string(DW_AT_name, code.name);
    }
    if (declaration) die.reference(DW_AT_specification, *declaration);
    add_declaration_line(die, code);
    die.address(DW_AT_low_pc, code.start);
    die.number(DW_AT_high_pc, placed.size);
    const std::optional<FrameBase> frame_base = frame_base_of(placed, module_->platform);
    VariablePlaces base; // its bytes must outlive the entry
    if (frame_base) base = write_places(*frame_base, placed, module_->platform, out_->locations);
    add_places(die, DW_AT_frame_base, base);
    if (!in_class) add_type(die, code.return_type, true);
    std::optional<std::size_t> object_pointer;
    if (in_class) {
      die.reference(DW_AT_object_pointer, Die::later);
      out_->entries.write(die);
      object_pointer = out_->entries.last_reference();
    } else {
      out_->entries.write(die);
    }
    if (code.variables.empty()) return;
    write_scope(scope, placed, object_pointer, frame_base);
    out_->entries.end_children();
  }

  void add_declaration_line(Die& die, const DebugCode& code) const {
    const auto row = std::ranges::find(code.lines, code.declaration_line, &DebugLineRow::line);
    if (code.declaration_line == 0 || row == code.lines.end()) return;
    if (const std::uint32_t file = out_->lines.file_number(row->file); file != 0)
      die.number(DW_AT_decl_file, file).number(DW_AT_decl_line, row->line);
  }

  // A declaration that says nothing but the short name of `code`; nothing where the entry of the code itself
  // has it.
  std::optional<std::size_t> declare(const DebugCode& code) {
    if (!code.function || !is_usable_name(code.full_name) || !is_usable_name(code.name)) return {};
    if (code.name == code.full_name) return {};
    return out_->entries.write(Die(DW_TAG_subprogram).string(DW_AT_name, code.name).flag(DW_AT_declaration));
  }

  void write_scope(const VariableScope& scope, const PlacedCode& placed,
                   std::optional<std::size_t> object_pointer, const std::optional<FrameBase>& frame_base) {
    for (const DebugVariable* variable : scope.variables) {
      const std::size_t offset = out_->entries.info().size();
      if (write_variable(*variable, placed, frame_base) && is_this(*variable) && object_pointer) {
        out_->entries.patch_reference(*object_pointer, offset);
        object_pointer.reset();
      }
    }
    for (const VariableScope& inner : scope.inner) {
      out_->entries.write(Die(DW_TAG_lexical_block, true)
                              .address(DW_AT_low_pc, placed.code->start + inner.begin)
                              .number(DW_AT_high_pc, inner.end - inner.begin));
      write_scope(inner, placed, {}, frame_base);
      out_->entries.end_children();
    }
  }

  bool write_variable(const DebugVariable& variable, const PlacedCode& placed,
                      const std::optional<FrameBase>& frame_base) {
    if (!types_->is_value(variable.type) || !is_usable_name(variable.name)) return false;
    Die die(variable.parameter ? DW_TAG_formal_parameter : DW_TAG_variable);
    die.string(DW_AT_name, variable.name);
    add_type(die, variable.type, is_this(variable));
    // LLDB lists no artificial variables; its own exception for `this` needs a runtime of C++ in the process.
    // The declaration within the class has the mark.
    if (variable.artificial && !is_this(variable)) die.flag(DW_AT_artificial);
    const VariablePlaces places =
        write_places(variable, placed, module_->platform, out_->locations, frame_base);
    add_places(die, DW_AT_location, places);
    out_->entries.write(die);
    return true;
  }

  // `places` must outlive `die`.
  static void add_places(Die& die, unsigned attribute, const VariablePlaces& places) {
    if (places.everywhere) die.expression(attribute, places.everywhere->bytes());
    if (places.list) die.section(attribute, *places.list);
  }

  void add_type(Die& die, DebugTypeIndex type, bool pointer) const {
    if (!types_->is_value(type)) return;
    if (const auto entry = pointer ? types_->pointer_entry(type) : types_->entry(type))
      die.reference(DW_AT_type, *entry);
  }

  const DebugModule* module_;
  const DwarfTypes* types_;
  DwarfUnits* out_;
};

// Writes the types and, in their classes, declarations of the functions that have a `this`.
Declarations write_types(const std::vector<std::vector<const PlacedCode*>>& units, DwarfTypes& types) {
  struct Method {
    DeclaredMethod declared;
    const PlacedCode* placed;
  };
  std::vector<Method> methods;
  for (const auto& unit : units)
    for (const PlacedCode* placed : unit) {
      const DebugCode& code = *placed->code;
      const auto self = std::ranges::find_if(code.variables, is_this);
      if (self == code.variables.end() || !code.function || !is_usable_name(code.name)) continue;
      if (const auto object = types.object_of_this(self->type))
        methods.push_back({{*object, self->type, code.return_type, code.name}, placed});
    }
  std::ranges::stable_sort(methods, {}, [](const Method& method) { return method.declared.object; });
  std::vector<DeclaredMethod> declared;
  for (const Method& method : methods) declared.push_back(method.declared);
  types.write(declared);
  Declarations declarations;
  for (std::size_t i = 0; i < methods.size(); ++i)
    if (const auto& at = types.declarations()[i]) declarations.emplace(methods[i].placed, *at);
  return declarations;
}

} // namespace

std::size_t DwarfUnits::add_ranges(std::span<const PlacedCode* const> functions) {
  const std::size_t at = ranges.size();
  for (const PlacedCode* placed : functions) {
    ranges.word(placed->code->start);
    ranges.word(placed->code->start + placed->size);
  }
  ranges.word(0);
  ranges.word(0);
  return at;
}

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
  DwarfTypes types(module, out.entries);
  const Declarations declarations = module.types.empty() ? Declarations() : write_types(units, types);
  UnitWriter writer(module, types, out);
  for (const auto& unit : units) {
    if (out.entries.full() || out.lines.section().size() > max_debug_section) break;
    writer.write(unit, declarations);
  }
  write_bare_units(module, placed, out);
  return out;
}

} // namespace clr
