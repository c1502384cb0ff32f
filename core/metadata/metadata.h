// ECMA-335 metadata: root, streams, heaps, table rows. Rows are decoded on request; nothing is indexed
// beforehand, and tables that are not sorted at the first search. Source: ECMA-335 II.22 and II.24.
#pragma once

#include "core/memory/byte_range.h"
#include "core/metadata/row_index.h"
#include "core/metadata/tables.h"

#include <memory>
#include <optional>
#include <string>

namespace clr {

// The first bytes of a metadata root, also that of a portable PDB: "BSJB".
constexpr std::uint32_t metadata_root_magic = 0x424a'5342;

namespace metadata {

using Guid = std::array<std::byte, 16>;

} // namespace metadata

// "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
std::string to_string(const metadata::Guid& guid);

namespace metadata {

// A blob of the #Blob heap, without its length.
using Blob = ByteRange;

} // namespace metadata

// Rows, with the columns that names and lines need. A column that is a table index holds a token, 0 for a nil
// index. Name and signature columns hold heap indexes; Metadata::string and Metadata::blob read them on
// request.
struct TypeRefRow {
  std::uint32_t resolution_scope = 0; // token of Module, ModuleRef, AssemblyRef or TypeRef
  std::uint32_t name = 0, name_space = 0;
};
struct TypeDefRow {
  std::uint32_t flags = 0;
  std::uint32_t name = 0, name_space = 0;
  std::uint32_t extends = 0;
  std::uint32_t field_list = 0, method_list = 0; // rids; rows of the *Ptr table when there is one
  bool nested() const { return (flags & 7) >= 2; }
};
struct MethodDefRow {
  std::uint32_t rva = 0;
  std::uint16_t impl_flags = 0, flags = 0;
  std::uint32_t name = 0, signature = 0;
  std::uint32_t param_list = 0;
};
struct FieldRow {
  std::uint16_t flags = 0;
  std::uint32_t name = 0, signature = 0;
  bool literal() const { return (flags & 0x40) != 0; } // a constant: it has a value and no place in memory
  bool is_static() const { return (flags & 0x10) != 0; }
};
struct ConstantRow {
  std::uint8_t type = 0;   // ELEMENT_TYPE_*
  std::uint32_t value = 0; // blob index
};
struct ParamRow {
  std::uint16_t flags = 0, sequence = 0; // 0: the return value; 1: the first parameter
  std::uint32_t name = 0;
};
struct MemberRefRow {
  std::uint32_t parent = 0; // token
  std::uint32_t name = 0, signature = 0;
};
struct GenericParamRow {
  std::uint16_t number = 0, flags = 0;
  std::uint32_t owner = 0; // token
  std::uint32_t name = 0;
};
struct AssemblyRow {
  std::uint16_t major = 0, minor = 0, build = 0, revision = 0;
  std::uint32_t flags = 0;
  std::uint32_t name = 0;
};
struct AssemblyRefRow {
  std::uint16_t major = 0, minor = 0, build = 0, revision = 0;
  std::uint32_t name = 0;
};
struct MethodSpecRow {
  std::uint32_t method = 0; // token
  std::uint32_t instantiation = 0;
};
struct CustomAttributeRow {
  std::uint32_t parent = 0, constructor = 0; // tokens
  std::uint32_t value = 0;                   // blob index
};
struct ExportedTypeRow {
  std::uint32_t flags = 0;
  std::uint32_t type_def_id = 0;
  std::uint32_t name = 0, name_space = 0;
  std::uint32_t implementation = 0; // token
};

class Metadata {
public:
  // `bytes` start at the root ("BSJB") and reach to the end of the metadata. Throws Error{corrupt} when root,
  // streams or table sizes contradict themselves or the size, Error{memory_missing}. Cost: about 5 reads
  // within the first page.
  explicit Metadata(ByteRange bytes);

  std::uint32_t rows(MetadataTable table) const { return rows_[static_cast<unsigned>(table)]; }
  const std::string& version() const { return version_; } // "v4.0.30319", "PDB v1.0"
  // The stream is the uncompressed "#-" of edited or emitted modules.
  bool uncompressed() const { return uncompressed_; }
  // A stream by name; nothing when there is none.
  std::optional<ByteRange> stream(std::string_view name) const;

  // Raw access: the stored value of column `column` in row `rid` (1-based). Throws Error{corrupt} for a row
  // or column that does not exist. One read.
  std::uint32_t cell(MetadataTable table, std::uint32_t rid, unsigned column) const;
  // The bytes of a whole table, and of one row.
  ByteRange table_bytes(MetadataTable table) const;

  // Rows by rid, 1-based; Error{corrupt} for a rid outside the table. One read each.
  std::uint32_t module_name() const; // string index
  metadata::Guid mvid() const;       // Module row 1; two reads
  TypeRefRow type_ref(std::uint32_t rid) const;
  TypeDefRow type_def(std::uint32_t rid) const;
  MethodDefRow method_def(std::uint32_t rid) const;
  FieldRow field(std::uint32_t rid) const;
  ParamRow param(std::uint32_t rid) const;
  MemberRefRow member_ref(std::uint32_t rid) const;
  GenericParamRow generic_param(std::uint32_t rid) const;
  AssemblyRow assembly() const; // row 1
  AssemblyRefRow assembly_ref(std::uint32_t rid) const;
  std::uint32_t module_ref_name(std::uint32_t rid) const;
  std::uint32_t type_spec(std::uint32_t rid) const;       // blob index of the signature
  std::uint32_t stand_alone_sig(std::uint32_t rid) const; // the same
  MethodSpecRow method_spec(std::uint32_t rid) const;
  CustomAttributeRow custom_attribute(std::uint32_t rid) const;
  ExportedTypeRow exported_type(std::uint32_t rid) const;

  // Heaps. Index 0 is the empty string, the empty blob, the nil GUID.
  std::string string(std::uint32_t index) const; // at most max_string bytes
  metadata::Blob blob(std::uint32_t index) const;
  metadata::Guid guid(std::uint32_t index) const; // 1-based
  // Content of a #US entry as UTF-16 code units.
  std::u16string user_string(std::uint32_t offset) const;

  // Navigation. Binary searches: about log2(rows) cells, on at most 4 pages for CoreLib. Pointer tables and
  // tables of edited modules may be in any order: the first search in one reads all of its rows.
  // Rid of the TypeDef that owns a method; 0 when none does.
  std::uint32_t owner_of_method(std::uint32_t method_rid) const;
  // The methods of a type as rids [first, last). When there is a MethodPtr table, they are its rows (use
  // method_at then).
  std::pair<std::uint32_t, std::uint32_t> method_range(std::uint32_t type_rid) const;
  std::uint32_t method_at(std::uint32_t list_index) const;
  // The fields of a type as rids [first, last). When there is a FieldPtr table, they are its rows (use
  // field_at then).
  std::pair<std::uint32_t, std::uint32_t> field_range(std::uint32_t type_rid) const;
  std::uint32_t field_at(std::uint32_t list_index) const;
  // The value of a constant field; nothing when it has none.
  std::optional<ConstantRow> constant_of_field(std::uint32_t field_rid) const;
  // Rid of the enclosing TypeDef; 0 when there is none.
  std::uint32_t encloser_of(std::uint32_t type_rid) const;
  // Parameters of a method as rids [first, last) of Param. When there is a ParamPtr table, they are its rows
  // (use param_at then).
  std::pair<std::uint32_t, std::uint32_t> param_range(std::uint32_t method_rid) const;
  std::uint32_t param_at(std::uint32_t list_index) const;
  // Generic parameters of a TypeDef or MethodDef token as rids [first, last), in the order of their numbers.
  std::pair<std::uint32_t, std::uint32_t> generic_params(std::uint32_t owner_token) const;
  // Attributes of a MethodDef, Field, Param or TypeDef token as rids [first, last). Of an edited module the
  // first ones that follow each other.
  std::pair<std::uint32_t, std::uint32_t> custom_attributes(std::uint32_t owner_token) const;
  // Whether `token` is a row that exists.
  bool valid(std::uint32_t token) const;

  static constexpr unsigned max_streams = 32;
  static constexpr std::size_t max_version = 256, max_stream_name = 32;
  static constexpr std::size_t max_string = 4096;                  // bytes of one name
  static constexpr std::size_t max_user_string = 16 * 1024 * 1024; // bytes
  static constexpr std::uint32_t max_rows = 0x00ff'ffff; // the largest row number that fits into a token
  static constexpr std::uint32_t max_pointer_rows = 1'000'000; // in tables that are not sorted

private:
  struct Row;
  struct Stream {
    std::string name;
    ByteRange bytes;
  };
  void read_tables(const ByteRange& stream, bool all_wide);
  void check_row(MetadataTable table, std::uint32_t rid) const;
  Row row(MetadataTable table, std::uint32_t rid) const;
  std::pair<std::uint32_t, std::uint32_t> list_range(MetadataTable owner, std::uint32_t rid, unsigned column,
                                                     MetadataTable list, MetadataTable pointers) const;
  // Of a table in any order: the first row that has `value` in `column`, and those right behind it that have
  // it too, as [first, last); {rows + 1, rows + 1} when there is none.
  std::pair<std::uint32_t, std::uint32_t> rows_with(MetadataTable table, unsigned column,
                                                    std::uint32_t value) const;
  // Rows of a table that is sorted by its owner column, or of an edited module.
  std::pair<std::uint32_t, std::uint32_t> rows_of_owner(MetadataTable table, unsigned column,
                                                        std::uint32_t owner) const;
  ByteRange heap_entry(const ByteRange& heap, std::uint32_t index) const;

  ByteRange bytes_;
  std::string version_;
  std::vector<Stream> streams_;
  bool uncompressed_ = false;
  ByteRange strings_, blobs_, guids_, user_strings_, tables_;
  std::shared_ptr<RowIndexes> indexes_ = std::make_shared<RowIndexes>();
  RowCounts rows_{};
  TableLayouts layouts_{};
  std::array<std::uint64_t, table_count> table_offset_{}; // within tables_
};

} // namespace clr
