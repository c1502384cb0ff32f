// The tables of an ECMA-335 metadata stream: their numbers, their columns, and the widths of the columns.
// Source: ECMA-335 II.22 and II.24.2.6; the portable PDB tables: dotnet/runtime
// docs/design/specs/PortablePdb-Metadata.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace clr {

enum class MetadataTable : std::uint8_t {
  module = 0x00,
  type_ref = 0x01,
  type_def = 0x02,
  field_ptr = 0x03,
  field = 0x04,
  method_ptr = 0x05,
  method_def = 0x06,
  param_ptr = 0x07,
  param = 0x08,
  interface_impl = 0x09,
  member_ref = 0x0a,
  constant = 0x0b,
  custom_attribute = 0x0c,
  field_marshal = 0x0d,
  decl_security = 0x0e,
  class_layout = 0x0f,
  field_layout = 0x10,
  stand_alone_sig = 0x11,
  event_map = 0x12,
  event_ptr = 0x13,
  event = 0x14,
  property_map = 0x15,
  property_ptr = 0x16,
  property = 0x17,
  method_semantics = 0x18,
  method_impl = 0x19,
  module_ref = 0x1a,
  type_spec = 0x1b,
  impl_map = 0x1c,
  field_rva = 0x1d,
  enc_log = 0x1e,
  enc_map = 0x1f,
  assembly = 0x20,
  assembly_processor = 0x21,
  assembly_os = 0x22,
  assembly_ref = 0x23,
  assembly_ref_processor = 0x24,
  assembly_ref_os = 0x25,
  file = 0x26,
  exported_type = 0x27,
  manifest_resource = 0x28,
  nested_class = 0x29,
  generic_param = 0x2a,
  method_spec = 0x2b,
  generic_param_constraint = 0x2c,
  // Portable PDB
  document = 0x30,
  method_debug_information = 0x31,
  local_scope = 0x32,
  local_variable = 0x33,
  local_constant = 0x34,
  import_scope = 0x35,
  state_machine_method = 0x36,
  custom_debug_information = 0x37,
};
constexpr unsigned table_count = 0x38;  // numbers of known tables
constexpr unsigned table_id_limit = 64; // bits of the Valid mask

// A token: the table is the top byte, the row (1-based, "rid") the low 24 bits.
constexpr std::uint32_t token_of(MetadataTable table, std::uint32_t rid) {
  return (static_cast<std::uint32_t>(table) << 24) | (rid & 0x00ff'ffff);
}
constexpr std::uint32_t rid_of(std::uint32_t token) {
  return token & 0x00ff'ffff;
}
constexpr MetadataTable table_of(std::uint32_t token) {
  return static_cast<MetadataTable>(token >> 24);
}

// The largest number of columns of one table (Assembly and AssemblyRef have nine).
constexpr unsigned max_columns = 9;

// Widths of the heaps' indexes in bytes: 2 or 4.
struct HeapWidths {
  std::uint8_t strings = 2, guid = 2, blob = 2;
};

// The places of one table's columns in a row.
struct TableLayout {
  std::uint8_t columns = 0;
  std::uint8_t row_size = 0; // bytes
  std::array<std::uint8_t, max_columns> offset{};
  std::array<std::uint8_t, max_columns> width{}; // 1, 2 or 4
};

using RowCounts = std::array<std::uint32_t, table_id_limit>;
using TableLayouts = std::array<TableLayout, table_count>;

// The layouts for these row counts. `own` are the rows in this metadata. `referenced` are the rows that
// indexes count: the same, except in a portable PDB, whose type system rows are in another file. `all_wide`:
// the stream #JTD makes every variable column 4 bytes wide.
TableLayouts layout_tables(const RowCounts& own, const RowCounts& referenced, HeapWidths heaps,
                           bool all_wide);

// The kinds of coded indexes, ECMA-335 II.24.2.6.
enum class CodedIndex : std::uint8_t {
  type_def_or_ref,
  resolution_scope,
  member_ref_parent,
  has_constant,
  has_custom_attribute,
  custom_attribute_type,
  has_field_marshal,
  has_decl_security,
  has_semantics,
  method_def_or_ref,
  member_forwarded,
  implementation,
  type_or_method_def,
  has_custom_debug_information,
};
// The token that a coded index stands for; 0 when its tag names no table or its row exceeds a token.
std::uint32_t decode_coded_index(CodedIndex kind, std::uint32_t value);

} // namespace clr
