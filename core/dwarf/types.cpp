#include "core/dwarf/types.h"

#include "core/dwarf/c_names.h"
#include "core/dwarf/locations.h"

#include <algorithm>
#include <dwarf.h>
#include <map>
#include <ranges>

namespace clr {
namespace {

using Kind = DebugType::Kind;

bool is_this_target(Kind kind) {
  return kind == Kind::structure || kind == Kind::object;
}

} // namespace

DwarfTypes::DwarfTypes(const DebugModule& module, DwarfEntries& entries)
    : module_(&module), entries_(&entries), check_(module), offsets_(module.types.size()),
      aliases_(alias_tree(module)), homes_(homes_of(aliases_)) {}

std::optional<std::size_t> DwarfTypes::entry(DebugTypeIndex type) const {
  if (type >= offsets_.size() || offsets_[type] == 0) return std::nullopt;
  return offsets_[type];
}

std::optional<DebugTypeIndex> DwarfTypes::object_of_this(DebugTypeIndex type) const {
  if (!check_.usable(type)) return std::nullopt;
  const DebugType& pointer = module_->types[type];
  if (pointer.kind != Kind::reference && pointer.kind != Kind::pointer) return std::nullopt;
  if (!check_.usable(pointer.element) || !is_this_target(module_->types[pointer.element].kind))
    return std::nullopt;
  return pointer.element;
}

std::optional<std::size_t> DwarfTypes::pointer_entry(DebugTypeIndex type) const {
  if (const auto at = pointers_.find(type); at != pointers_.end()) return at->second;
  return entry(type);
}

std::size_t DwarfTypes::write_typed(Die& die, DebugTypeIndex type, bool pointer) {
  if (!check_.usable(type)) return entries_->write(die);
  // Often one further behind: the places are filled in at the end.
  const std::size_t offset = entries_->write(die.reference(DW_AT_type, Die::later));
  later_.push_back({entries_->last_reference(), type, pointer});
  return offset;
}

void DwarfTypes::write(const std::vector<DeclaredMethod>& methods) {
  declarations_.reserve(methods.size());
  entries_->begin_unit();
  entries_->write(Die(DW_TAG_compile_unit, true).string(DW_AT_name, module_->file_name));
  std::size_t next = 0;
  for (std::size_t i = 0; i < module_->types.size() && !entries_->full(); ++i) {
    const std::size_t first = next;
    while (next < methods.size() && methods[next].object == i) ++next;
    const auto index = static_cast<DebugTypeIndex>(i);
    if (check_.usable(index)) write_type(index, std::span(methods).subspan(first, next - first));
    declarations_.resize(next);
  }
  declarations_.resize(methods.size());
  write_statics();
  write_globals();
  write_names(aliases_, false);
  entries_->end_children();
  entries_->end_unit();
  for (const Reference& reference : later_)
    entries_->patch_reference(reference.place,
                              *(reference.pointer ? pointer_entry(reference.type) : entry(reference.type)));
}

void DwarfTypes::write_type(DebugTypeIndex index, std::span<const DeclaredMethod> methods) {
  const DebugType& type = module_->types[index];
  offsets_[index] = entries_->info().size();
  switch (type.kind) {
  case Kind::boolean:
    return write_number(index, DW_ATE_boolean);
  case Kind::signed_integer:
    return write_number(index, DW_ATE_signed);
  case Kind::unsigned_integer:
    return write_number(index, DW_ATE_unsigned);
  case Kind::floating:
    return write_number(index, DW_ATE_float);
  case Kind::character:
    return write_number(index, DW_ATE_UTF);
  case Kind::reference:
    return write_reference(index);
  case Kind::pointer:
    return write_pointer(type.element);
  case Kind::enumeration:
    return write_enumeration(type, index);
  case Kind::array:
    return write_array(type);
  case Kind::opaque:
  case Kind::structure:
  case Kind::object:
    return write_record(index, methods);
  }
}

void DwarfTypes::write_number(DebugTypeIndex index, unsigned encoding) {
  const DebugType& type = module_->types[index];
  const std::string_view name = name_in_c(type);
  const std::size_t number = entries_->write(Die(DW_TAG_base_type)
                                                 .string(DW_AT_name, name)
                                                 .number(DW_AT_byte_size, type.size)
                                                 .number(DW_AT_encoding, encoding));
  if (type.name == name) return;
  offsets_[index] = entries_->info().size();
  entries_->write(Die(DW_TAG_typedef).string(DW_AT_name, type.name).reference(DW_AT_type, number));
}

void DwarfTypes::write_pointer(DebugTypeIndex element) {
  Die die(DW_TAG_pointer_type);
  die.number(DW_AT_byte_size, module_->platform.pointer_size);
  write_typed(die, element, true);
}

void DwarfTypes::write_reference(DebugTypeIndex index) {
  const DebugTypeIndex element = module_->types[index].element;
  // There are no references to void.
  if (!check_.usable(element)) return write_pointer(element);
  Die die(DW_TAG_reference_type);
  die.number(DW_AT_byte_size, module_->platform.pointer_size);
  write_typed(die, element, true);
  pointers_.emplace(index, entries_->info().size());
  write_pointer(element);
}

void DwarfTypes::write_array(const DebugType& type) {
  Die die(DW_TAG_array_type, true);
  write_typed(die, type.element, true);
  Die range(DW_TAG_subrange_type);
  if (type.count != 0) range.number(DW_AT_count, type.count);
  entries_->write(range);
  entries_->end_children();
}

void DwarfTypes::write_enumeration(const DebugType& type, DebugTypeIndex index) {
  Die die(DW_TAG_enumeration_type, true);
  die.string(DW_AT_name, type.name).number(DW_AT_byte_size, check_.size(index));
  write_typed(die, type.element);
  for (const DebugEnumerator& enumerator : type.enumerators)
    if (is_usable_name(enumerator.name))
      entries_->write(Die(DW_TAG_enumerator)
                          .string(DW_AT_name, enumerator.name)
                          .signed_number(DW_AT_const_value, enumerator.value));
  entries_->end_children();
}

void DwarfTypes::write_record(DebugTypeIndex index, std::span<const DeclaredMethod> methods) {
  const DebugType& type = module_->types[index];
  const bool root = type.kind == Kind::object && std::ranges::none_of(type.fields, &DebugField::base);
  const auto home = homes_.find(index);
  const bool has_children = home != homes_.end() ||
                            (type.kind != Kind::opaque && !(type.fields.empty() && methods.empty() && !root));
  entries_->write(Die(DW_TAG_structure_type, has_children)
                      .string(DW_AT_name, type.name)
                      .number(DW_AT_byte_size, check_.size(index)));
  if (!has_children) return;
  std::vector<const DebugField*> fields;
  for (std::size_t i = 0; i < type.fields.size() && type.kind != Kind::opaque; ++i) {
    if (!check_.has_field(index, i)) continue;
    if (type.fields[i].base)
      write_base(type.fields[i]);
    else
      fields.push_back(&type.fields[i]);
  }
  write_fields(std::move(fields));
  for (const DeclaredMethod& method : methods) write_declaration(method);
  if (home != homes_.end()) write_names(*home->second, true);
  if (root) return write_assignment(index);
  entries_->end_children();
}

// C++ would copy the members of one object over those of another where managed code makes a reference lead to
// another object. An operator that is declared, and that no code is found of, makes an error of that
// expression, for all classes that are derived from this one. Ends the children of the class.
void DwarfTypes::write_assignment(DebugTypeIndex index) {
  std::size_t places[2]{};
  entries_->write(Die(DW_TAG_subprogram, true)
                      .string(DW_AT_name, "operator=")
                      .flag(DW_AT_external)
                      .flag(DW_AT_declaration));
  entries_->write(Die(DW_TAG_formal_parameter).flag(DW_AT_artificial).reference(DW_AT_type, Die::later));
  places[0] = entries_->last_reference();
  entries_->write(Die(DW_TAG_formal_parameter).reference(DW_AT_type, Die::later));
  places[1] = entries_->last_reference();
  entries_->end_children();
  entries_->end_children();
  const unsigned tags[] = {DW_TAG_pointer_type, DW_TAG_reference_type};
  for (std::size_t i = 0; i < std::size(tags); ++i) {
    entries_->patch_reference(places[i], entries_->info().size());
    entries_->write(Die(tags[i])
                        .number(DW_AT_byte_size, module_->platform.pointer_size)
                        .reference(DW_AT_type, offsets_[index]));
  }
}

void DwarfTypes::write_base(const DebugField& field) {
  Die die(DW_TAG_inheritance);
  die.number(DW_AT_data_member_location, field.offset);
  write_typed(die, field.type);
}

// In the order in which they are given: debuggers show them so.
void DwarfTypes::write_fields(std::vector<const DebugField*> fields) {
  struct Group { // fields that overlap
    const DebugField* first = nullptr;
    std::span<const DebugField* const> fields;
    std::uint64_t end = 0;
  };
  std::vector<Group> groups;
  std::ranges::stable_sort(fields, {}, &DebugField::offset);
  for (std::size_t first = 0, last = 0; first < fields.size(); first = last) {
    const auto end_of = [&](std::size_t i) { return fields[i]->offset + check_.size(fields[i]->type); };
    Group group{.first = fields[first], .fields = {}, .end = end_of(first)};
    for (last = first + 1; last < fields.size() && fields[last]->offset < group.end; ++last) {
      group.end = std::max(group.end, end_of(last));
      group.first = std::min(group.first, fields[last]);
    }
    group.fields = std::span(fields).subspan(first, last - first);
    groups.push_back(group);
  }
  std::ranges::sort(groups, {}, &Group::first);
  for (const Group& group : groups) {
    if (group.fields.size() == 1)
      write_field(*group.first, group.first->offset);
    else
      write_union(group.fields, group.end);
  }
}

void DwarfTypes::write_union(std::span<const DebugField* const> fields, std::uint64_t end) {
  const std::uint64_t begin = fields.front()->offset;
  write_anonymous_member(begin);
  entries_->write(Die(DW_TAG_union_type, true).number(DW_AT_byte_size, end - begin));
  for (const DebugField* field : fields) {
    if (field->offset == begin) {
      write_field(*field, 0);
      continue;
    }
    // All members of a union begin where it does.
    write_anonymous_member(0);
    entries_->write(Die(DW_TAG_structure_type, true).number(DW_AT_byte_size, end - begin));
    write_field(*field, field->offset - begin);
    entries_->end_children();
  }
  entries_->end_children();
}

void DwarfTypes::write_anonymous_member(std::uint64_t offset) {
  entries_->write(
      Die(DW_TAG_member).number(DW_AT_data_member_location, offset).reference(DW_AT_type, Die::later));
  entries_->patch_reference(entries_->last_reference(), entries_->info().size());
}

void DwarfTypes::write_field(const DebugField& field, std::uint64_t offset) {
  Die die(DW_TAG_member);
  die.string(DW_AT_name, field.name).number(DW_AT_data_member_location, offset);
  if (field.artificial) die.flag(DW_AT_artificial);
  write_typed(die, field.type);
}

void DwarfTypes::write_declaration(const DeclaredMethod& method) {
  Die die(DW_TAG_subprogram, true);
  die.string(DW_AT_name, method.name).flag(DW_AT_external).flag(DW_AT_declaration);
  declarations_.push_back(check_.is_value(method.return_type) ? write_typed(die, method.return_type, true)
                                                              : entries_->write(die));
  Die self(DW_TAG_formal_parameter);
  self.flag(DW_AT_artificial);
  write_typed(self, method.this_type, true);
  entries_->end_children();
}

void DwarfTypes::write_variable(Die& die, const DebugField& field) {
  const DwarfBytes location = static_location(field, module_->platform);
  die.expression(DW_AT_location, location.bytes());
  write_typed(die, field.type);
}

void DwarfTypes::write_statics() {
  for (std::size_t i = 0; i < module_->types.size() && !entries_->full(); ++i) {
    const DebugType& type = module_->types[i];
    if (!check_.usable(static_cast<DebugTypeIndex>(i))) continue;
    for (const DebugField& field : type.fields) {
      if (!field.static_address || !is_usable_name(field.name) || !check_.is_value(field.type)) continue;
      static_names_.push_back(c_identifier(type.name + '.' + field.name));
      Die die(DW_TAG_variable);
      die.string(DW_AT_name, static_names_.back()).flag(DW_AT_external);
      write_variable(die, field);
    }
  }
}

struct GlobalTree {
  std::map<std::string, GlobalTree> inner;
  const DebugField* global = nullptr;
};

void DwarfTypes::write_globals() {
  GlobalTree tree;
  Address begin = ~Address{0};
  for (const DebugField& global : module_->globals) {
    if (!global.static_address || !is_usable_name(global.name) || !check_.is_value(global.type)) continue;
    Die die(DW_TAG_variable);
    die.string(DW_AT_name, global.name).flag(DW_AT_external);
    write_variable(die, global);
    GlobalTree* node = &tree;
    for (const auto part : std::views::split(global.name, '.'))
      node = &node->inner[{part.begin(), part.end()}];
    // A box is found by a location alone.
    if (global.static_boxed) continue;
    node->global = &global;
    begin = std::min(begin, *global.static_address);
  }
  for (const auto& [name, node] : tree.inner) {
    if (node.inner.empty() || entries_->full()) continue;
    const std::size_t type = entries_->info().size();
    write_tree(node, name, begin);
    static_names_.push_back(name);
    DwarfBytes location(module_->platform);
    location.u8(DW_OP_addr);
    location.word(begin);
    entries_->write(Die(DW_TAG_variable)
                        .string(DW_AT_name, static_names_.back())
                        .flag(DW_AT_external)
                        .expression(DW_AT_location, location.bytes())
                        .reference(DW_AT_type, type));
  }
}

// A union that begins at the first of the globals, in which the distance of each is its offset: its members
// lie anywhere, and an expression reads no more than the one it names.
void DwarfTypes::write_tree(const GlobalTree& tree, const std::string& name, Address begin) {
  constexpr std::uint64_t end = 0xFFFF'FFFF;
  static_names_.push_back(name);
  entries_->write(
      Die(DW_TAG_union_type, true).string(DW_AT_name, static_names_.back()).number(DW_AT_byte_size, end));
  for (const auto& [part, node] : tree.inner) {
    static_names_.push_back(part);
    const std::string& member = static_names_.back();
    if (node.global != nullptr &&
        *node.global->static_address - begin < end - check_.size(node.global->type)) {
      write_anonymous_member(0);
      entries_->write(Die(DW_TAG_structure_type, true).number(DW_AT_byte_size, end));
      Die die(DW_TAG_member);
      die.string(DW_AT_name, member).number(DW_AT_data_member_location, *node.global->static_address - begin);
      write_typed(die, node.global->type);
      entries_->end_children();
    } else if (!node.inner.empty()) {
      Die die(DW_TAG_member);
      die.string(DW_AT_name, member).number(DW_AT_data_member_location, 0);
      entries_->write(die.reference(DW_AT_type, Die::later));
      entries_->patch_reference(entries_->last_reference(), entries_->info().size());
      write_tree(node, name + '.' + part, begin);
    }
  }
  entries_->end_children();
}

} // namespace clr
