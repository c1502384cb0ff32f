// The part of DwarfTypes that writes the names of types in the way of C++.
#include "core/dwarf/types.h"

#include <dwarf.h>

namespace clr {

void DwarfTypes::write_names(const AliasScope& scope, bool in_type) {
  std::vector<std::size_t> members;
  for (const auto& [name, inner] : scope.inner) {
    if (entries_->full()) return;
    const bool is_type = check_.usable(inner.type);
    // A type of no namespace has its own name.
    if (is_type && (&scope != &aliases_ || module_->types[inner.type].name != name)) {
      Die die(DW_TAG_typedef);
      die.string(DW_AT_name, name);
      members.push_back(write_typed(die, inner.type));
    }
    if (is_type || inner.inner.empty()) continue;
    Die die(in_type ? DW_TAG_structure_type : DW_TAG_namespace, true);
    die.string(DW_AT_name, name);
    if (in_type) die.number(DW_AT_byte_size, 1);
    members.push_back(entries_->write(die));
    write_names(inner, in_type);
    entries_->end_children();
  }
  if (in_type) write_mention(members);
}

// LLDB knows of types within a type those alone that something of its mentions. It reads the types of the
// parameters of every function, and then leaves out one that a compiler made.
void DwarfTypes::write_mention(std::span<const std::size_t> types) {
  entries_->write(Die(DW_TAG_subprogram, true)
                      .string(DW_AT_name, "types")
                      .flag(DW_AT_external)
                      .flag(DW_AT_declaration)
                      .flag(DW_AT_artificial));
  for (const std::size_t type : types)
    entries_->write(Die(DW_TAG_formal_parameter).reference(DW_AT_type, type));
  entries_->end_children();
}

} // namespace clr
