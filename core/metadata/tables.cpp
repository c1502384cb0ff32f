#include "core/metadata/tables.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace clr {
namespace {

constexpr MetadataTable none = static_cast<MetadataTable>(0xff);

struct CodedKind {
  unsigned tag_bits;
  std::vector<MetadataTable> tables; // by tag
};

const CodedKind& coded_kind(CodedIndex kind) {
  using enum MetadataTable;
  static const std::array<CodedKind, 14> kinds{{
      {2, {type_def, type_ref, type_spec}},
      {2, {module, module_ref, assembly_ref, type_ref}},
      {3, {type_def, type_ref, module_ref, method_def, type_spec}},
      {2, {field, param, property}},
      {5, {method_def,        field,         type_ref,
           type_def,          param,         interface_impl,
           member_ref,        module,        decl_security,
           property,          event,         stand_alone_sig,
           module_ref,        type_spec,     assembly,
           assembly_ref,      file,          exported_type,
           manifest_resource, generic_param, generic_param_constraint,
           method_spec}},
      {3, {none, none, method_def, member_ref, none}},
      {1, {field, param}},
      {2, {type_def, method_def, assembly}},
      {1, {event, property}},
      {1, {method_def, member_ref}},
      {1, {field, method_def}},
      {2, {file, assembly_ref, exported_type}},
      {1, {type_def, method_def}},
      {5, {method_def,        field,          type_ref,
           type_def,          param,          interface_impl,
           member_ref,        module,         decl_security,
           property,          event,          stand_alone_sig,
           module_ref,        type_spec,      assembly,
           assembly_ref,      file,           exported_type,
           manifest_resource, generic_param,  generic_param_constraint,
           method_spec,       document,       local_scope,
           local_variable,    local_constant, import_scope}},
  }};
  return kinds[static_cast<std::size_t>(kind)];
}

// A column: a fixed width, a heap index, an index into one table, or a coded index.
struct Column {
  enum class Kind : std::uint8_t { fixed, strings, guid, blob, simple, coded } kind;
  std::uint8_t width = 0;
  MetadataTable table = none;
  CodedIndex coded = CodedIndex::type_def_or_ref;
};
constexpr Column u1{Column::Kind::fixed, 1}, u2{Column::Kind::fixed, 2}, u4{Column::Kind::fixed, 4};
constexpr Column S{Column::Kind::strings}, G{Column::Kind::guid}, B{Column::Kind::blob};
constexpr Column T(MetadataTable table) {
  return {Column::Kind::simple, 0, table};
}
constexpr Column C(CodedIndex coded) {
  return {Column::Kind::coded, 0, none, coded};
}

using Schema = std::vector<Column>;

const std::array<Schema, table_count>& schemas() {
  using enum MetadataTable;
  using enum CodedIndex;
  static const std::array<Schema, table_count> all = [] {
    std::array<Schema, table_count> s;
    const auto set = [&s](MetadataTable table, Schema columns) {
      s[static_cast<std::size_t>(table)] = std::move(columns);
    };
    set(module, {u2, S, G, G, G});
    set(type_ref, {C(resolution_scope), S, S});
    set(type_def, {u4, S, S, C(type_def_or_ref), T(field), T(method_def)});
    set(field_ptr, {T(field)});
    set(field, {u2, S, B});
    set(method_ptr, {T(method_def)});
    set(method_def, {u4, u2, u2, S, B, T(param)});
    set(param_ptr, {T(param)});
    set(param, {u2, u2, S});
    set(interface_impl, {T(type_def), C(type_def_or_ref)});
    set(member_ref, {C(member_ref_parent), S, B});
    set(constant, {u1, u1, C(has_constant), B});
    set(custom_attribute, {C(has_custom_attribute), C(custom_attribute_type), B});
    set(field_marshal, {C(has_field_marshal), B});
    set(decl_security, {u2, C(has_decl_security), B});
    set(class_layout, {u2, u4, T(type_def)});
    set(field_layout, {u4, T(field)});
    set(stand_alone_sig, {B});
    set(event_map, {T(type_def), T(event)});
    set(event_ptr, {T(event)});
    set(event, {u2, S, C(type_def_or_ref)});
    set(property_map, {T(type_def), T(property)});
    set(property_ptr, {T(property)});
    set(property, {u2, S, B});
    set(method_semantics, {u2, T(method_def), C(has_semantics)});
    set(method_impl, {T(type_def), C(method_def_or_ref), C(method_def_or_ref)});
    set(module_ref, {S});
    set(type_spec, {B});
    set(impl_map, {u2, C(member_forwarded), S, T(module_ref)});
    set(field_rva, {u4, T(field)});
    set(enc_log, {u4, u4});
    set(enc_map, {u4});
    set(assembly, {u4, u2, u2, u2, u2, u4, B, S, S});
    set(assembly_processor, {u4});
    set(assembly_os, {u4, u4, u4});
    set(assembly_ref, {u2, u2, u2, u2, u4, B, S, S, B});
    set(assembly_ref_processor, {u4, T(assembly_ref)});
    set(assembly_ref_os, {u4, u4, u4, T(assembly_ref)});
    set(file, {u4, S, B});
    set(exported_type, {u4, u4, S, S, C(implementation)});
    set(manifest_resource, {u4, u4, S, C(implementation)});
    set(nested_class, {T(type_def), T(type_def)});
    set(generic_param, {u2, u2, C(type_or_method_def), S});
    set(method_spec, {C(method_def_or_ref), B});
    set(generic_param_constraint, {T(generic_param), C(type_def_or_ref)});
    set(document, {B, G, B, G});
    set(method_debug_information, {T(document), B});
    set(local_scope, {T(method_def), T(import_scope), T(local_variable), T(local_constant), u4, u4});
    set(local_variable, {u2, u2, S});
    set(local_constant, {S, B});
    set(import_scope, {T(import_scope), B});
    set(state_machine_method, {T(method_def), T(method_def)});
    set(custom_debug_information, {C(has_custom_debug_information), G, B});
    return s;
  }();
  return all;
}

// List columns count rows of the pointer table when the stream has one.
bool is_list_column(MetadataTable table, unsigned column) {
  return (table == MetadataTable::type_def && column >= 4) ||
         (table == MetadataTable::method_def && column == 5) ||
         (table == MetadataTable::event_map && column == 1) ||
         (table == MetadataTable::property_map && column == 1);
}

MetadataTable pointer_table(MetadataTable table) {
  switch (table) {
  case MetadataTable::field:
    return MetadataTable::field_ptr;
  case MetadataTable::method_def:
    return MetadataTable::method_ptr;
  case MetadataTable::param:
    return MetadataTable::param_ptr;
  case MetadataTable::event:
    return MetadataTable::event_ptr;
  case MetadataTable::property:
    return MetadataTable::property_ptr;
  default:
    return none;
  }
}

} // namespace

TableLayouts layout_tables(const RowCounts& own, const RowCounts& referenced, HeapWidths heaps,
                           bool all_wide) {
  const auto rows_of = [&](MetadataTable table) {
    if (table == none) return std::uint32_t{0};
    const std::size_t i = static_cast<std::size_t>(table);
    return std::max(own[i], referenced[i]);
  };
  const auto width_of = [&](MetadataTable table, unsigned number, const Column& column) -> std::uint8_t {
    using enum Column::Kind;
    if (column.kind == fixed) return column.width;
    if (all_wide) return 4;
    switch (column.kind) {
    case strings:
      return heaps.strings;
    case guid:
      return heaps.guid;
    case blob:
      return heaps.blob;
    case simple: {
      std::uint32_t rows = rows_of(column.table);
      if (is_list_column(table, number)) {
        const std::uint32_t pointers = rows_of(pointer_table(column.table));
        if (pointers != 0) rows = pointers;
      }
      return rows < 0x1'0000 ? 2 : 4;
    }
    default: {
      const CodedKind& kind = coded_kind(column.coded);
      std::uint32_t rows = 0;
      for (const MetadataTable t : kind.tables) rows = std::max(rows, rows_of(t));
      return rows < (0x1'0000u >> kind.tag_bits) ? 2 : 4;
    }
    }
  };

  TableLayouts layouts{};
  for (unsigned t = 0; t < table_count; ++t) {
    TableLayout& layout = layouts[t];
    for (const Column& column : schemas()[t]) {
      const unsigned c = layout.columns++;
      layout.offset[c] = layout.row_size;
      layout.width[c] = width_of(static_cast<MetadataTable>(t), c, column);
      layout.row_size = static_cast<std::uint8_t>(layout.row_size + layout.width[c]);
    }
  }
  return layouts;
}

std::uint32_t decode_coded_index(CodedIndex kind, std::uint32_t value) {
  const CodedKind& coded = coded_kind(kind);
  const std::uint32_t tag = value & ((1u << coded.tag_bits) - 1);
  if (tag >= coded.tables.size() || coded.tables[tag] == none) return 0;
  const std::uint32_t rid = value >> coded.tag_bits;
  return rid > 0x00ff'ffff ? 0 : token_of(coded.tables[tag], rid);
}

} // namespace clr
