// Entries for the types of managed code.
// Source: DWARF 4 section 5.
#pragma once

#include "core/dwarf/alias_tree.h"
#include "core/dwarf/entries.h"
#include "core/dwarf/type_check.h"

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// A method that is to be declared in its class, so that its debugger looks for names in `this`.
struct DeclaredMethod {
  DebugTypeIndex object = no_debug_type; // structure or object
  DebugTypeIndex this_type = no_debug_type;
  DebugTypeIndex return_type = no_debug_type;
  std::string_view name;
};

// The globals of a module by the parts of their names.
struct GlobalTree;

// A reference of .NET is DW_TAG_reference_type in variables and fields: LLDB then takes "name.Field" as it is
// written in C#, in `frame variable` and `expression`, shows what a variable refers to and no more of the
// objects behind it. With pointers it wants "name->Field".
class DwarfTypes {
public:
  DwarfTypes(const DebugModule& module, DwarfEntries& entries);

  // All types, in a unit of their own to which other units refer; `methods` in the order of their objects.
  void write(const std::vector<DeclaredMethod>& methods);
  // Offset of the type's entry; nothing for one that was left out.
  std::optional<std::size_t> entry(DebugTypeIndex type) const;
  // The same for `this`, results of functions, elements of arrays and targets of pointers, which all must
  // be a pointer where the others are a reference.
  std::optional<std::size_t> pointer_entry(DebugTypeIndex type) const;
  // Of each method's declaration, as they were given to write().
  const std::vector<std::optional<std::size_t>>& declarations() const { return declarations_; }
  // The structure or object whose `this` a variable of type `type` is; nothing for another.
  std::optional<DebugTypeIndex> object_of_this(DebugTypeIndex type) const;
  // False for void, objects and what is not usable: no variable has such a type.
  bool is_value(DebugTypeIndex type) const { return check_.is_value(type); }

private:
  void write_type(DebugTypeIndex index, std::span<const DeclaredMethod> methods);
  void write_number(DebugTypeIndex index, unsigned encoding);
  void write_pointer(DebugTypeIndex element);
  void write_reference(DebugTypeIndex index);
  void write_array(const DebugType& type);
  void write_enumeration(const DebugType& type, DebugTypeIndex index);
  void write_record(DebugTypeIndex index, std::span<const DeclaredMethod> methods);
  void write_assignment(DebugTypeIndex index);
  void write_base(const DebugField& field);
  // Fields that overlap are members of an anonymous union: of overlapping members of a structure LLDB's
  // expressions would read the wrong bytes.
  void write_fields(std::vector<const DebugField*> fields);
  void write_union(std::span<const DebugField* const> fields, std::uint64_t end);
  void write_field(const DebugField& field, std::uint64_t offset);
  // A member without a name whose type is the entry that follows it.
  void write_anonymous_member(std::uint64_t offset);
  void write_declaration(const DeclaredMethod& method);
  // "Ns_Type_Field": by the field's name alone LLDB would take that of any type, and of a name with dots only
  // what is before the first.
  void write_statics();
  void write_variable(Die& die, const DebugField& field);
  void write_globals();
  void write_tree(const GlobalTree& tree, const std::string& name, Address begin);
  // What stands in a scope of aliases; in a type all is a member of it.
  void write_names(const AliasScope& scope, bool in_type);
  void write_mention(std::span<const std::size_t> types);
  // Writes `die` with the type of what it describes, see pointer_entry(); an unusable type leaves the
  // attribute out.
  std::size_t write_typed(Die& die, DebugTypeIndex type, bool pointer = false);

  struct Reference {
    std::size_t place;
    DebugTypeIndex type;
    bool pointer;
  };

  const DebugModule* module_;
  DwarfEntries* entries_;
  TypeCheck check_;
  std::vector<std::size_t> offsets_; // 0: not written
  std::vector<Reference> later_;
  AliasScope aliases_;
  std::unordered_map<DebugTypeIndex, const AliasScope*> homes_; // of types within types
  std::unordered_map<DebugTypeIndex, std::size_t> pointers_;    // the second entries of references
  std::deque<std::string> static_names_; // the strings of .debug_str stay where they are until it is written
  std::vector<std::optional<std::size_t>> declarations_;
};

} // namespace clr
