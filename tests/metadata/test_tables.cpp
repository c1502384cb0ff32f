#include "core/metadata/tables.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

const TableLayout& of(const TableLayouts& layouts, MetadataTable table) {
  return layouts[static_cast<std::size_t>(table)];
}

void set(RowCounts& counts, MetadataTable table, std::uint32_t rows) {
  counts[static_cast<std::size_t>(table)] = rows;
}

} // namespace

TEST_CASE("row sizes of a small image, every table") {
  const TableLayouts layouts = layout_tables({}, {}, {}, false);
  // ECMA-335 II.22 with all indexes 2 bytes wide, by table number.
  const unsigned expected[table_count] = {10, 6,  14, 2, 6, 2, 14, 2, 6, 4, 6, 6, 6,  4,  6, 8,  6,  2, 4,
                                          2,  6,  4,  2, 6, 6, 6,  2, 2, 8, 6, 8, 4,  22, 4, 12, 20, 6, 14,
                                          8,  14, 12, 4, 8, 4, 4,  0, 0, 0, 8, 4, 16, 6,  4, 4,  4,  6};
  for (unsigned t = 0; t < table_count; ++t) {
    INFO("table " << t);
    CHECK(layouts[t].row_size == expected[t]);
  }
}

TEST_CASE("heap indexes are wide where HeapSizes says so") {
  const TableLayouts strings = layout_tables({}, {}, {.strings = 4}, false);
  CHECK(of(strings, MetadataTable::module).row_size == 12);
  CHECK(of(strings, MetadataTable::method_def).row_size == 16);
  CHECK(of(strings, MetadataTable::method_def).offset[3] == 8);
  CHECK(of(strings, MetadataTable::method_def).width[3] == 4);
  CHECK(of(strings, MetadataTable::method_def).width[4] == 2);
  const TableLayouts guid = layout_tables({}, {}, {.guid = 4}, false);
  CHECK(of(guid, MetadataTable::module).row_size == 16);
  CHECK(of(guid, MetadataTable::method_def).row_size == 14);
  const TableLayouts blob = layout_tables({}, {}, {.blob = 4}, false);
  CHECK(of(blob, MetadataTable::module).row_size == 10);
  CHECK(of(blob, MetadataTable::method_def).row_size == 16);
}

TEST_CASE("a simple index is 2 bytes up to 65,535 rows") {
  RowCounts counts{};
  set(counts, MetadataTable::param, 0xffff);
  CHECK(of(layout_tables(counts, {}, {}, false), MetadataTable::method_def).width[5] == 2);
  set(counts, MetadataTable::param, 0x10000);
  CHECK(of(layout_tables(counts, {}, {}, false), MetadataTable::method_def).width[5] == 4);
}

TEST_CASE("a coded index loses the bits of its tag") {
  const auto width_of_extends = [](MetadataTable table, std::uint32_t rows) {
    RowCounts counts{};
    set(counts, table, rows);
    return of(layout_tables(counts, {}, {}, false), MetadataTable::type_def).width[3];
  };
  // TypeDefOrRef: two bits.
  CHECK(width_of_extends(MetadataTable::type_def, 0x3fff) == 2);
  CHECK(width_of_extends(MetadataTable::type_def, 0x4000) == 4);
  CHECK(width_of_extends(MetadataTable::type_ref, 0x4000) == 4);
  CHECK(width_of_extends(MetadataTable::type_spec, 0x4000) == 4);
  CHECK(width_of_extends(MetadataTable::field, 0xffff) == 2);
  // HasCustomAttribute: five bits, of 22 tables.
  RowCounts counts{};
  set(counts, MetadataTable::method_spec, 0x7ff);
  CHECK(of(layout_tables(counts, {}, {}, false), MetadataTable::custom_attribute).width[0] == 2);
  set(counts, MetadataTable::method_spec, 0x800);
  CHECK(of(layout_tables(counts, {}, {}, false), MetadataTable::custom_attribute).width[0] == 4);
}

TEST_CASE("list columns index the pointer table where there is one") {
  RowCounts counts{};
  set(counts, MetadataTable::method_def, 0x10000);
  CHECK(of(layout_tables(counts, {}, {}, false), MetadataTable::type_def).width[5] == 4);
  set(counts, MetadataTable::method_ptr, 5);
  const TableLayouts with_pointers = layout_tables(counts, {}, {}, false);
  CHECK(of(with_pointers, MetadataTable::type_def).width[5] == 2);
  // A column that is no list still counts the methods.
  CHECK(of(with_pointers, MetadataTable::method_semantics).width[1] == 4);
}

TEST_CASE("#JTD makes every variable column wide and leaves constants alone") {
  const TableLayouts layouts = layout_tables({}, {}, {}, true);
  CHECK(of(layouts, MetadataTable::module).row_size == 18);
  CHECK(of(layouts, MetadataTable::method_def).row_size == 20);
  CHECK(of(layouts, MetadataTable::generic_param).row_size == 12);
  CHECK(of(layouts, MetadataTable::assembly_os).row_size == 12);
}

TEST_CASE("indexes of a portable PDB count the rows of the other file") {
  RowCounts own{}, referenced{};
  set(own, MetadataTable::local_variable, 3);
  set(referenced, MetadataTable::method_def, 0x10000);
  const TableLayout scope = of(layout_tables(own, referenced, {}, false), MetadataTable::local_scope);
  CHECK(scope.width[0] == 4);
  CHECK(scope.width[2] == 2);
}

TEST_CASE("coded indexes name their tables") {
  CHECK(decode_coded_index(CodedIndex::type_def_or_ref, 7 << 2 | 0) == 0x02000007);
  CHECK(decode_coded_index(CodedIndex::type_def_or_ref, 7 << 2 | 1) == 0x01000007);
  CHECK(decode_coded_index(CodedIndex::type_def_or_ref, 7 << 2 | 2) == 0x1b000007);
  CHECK(decode_coded_index(CodedIndex::type_def_or_ref, 7 << 2 | 3) == 0);
  CHECK(decode_coded_index(CodedIndex::resolution_scope, 9 << 2 | 2) == 0x23000009);
  CHECK(decode_coded_index(CodedIndex::resolution_scope, 9 << 2 | 3) == 0x01000009);
  CHECK(decode_coded_index(CodedIndex::member_ref_parent, 1 << 3 | 4) == 0x1b000001);
  CHECK(decode_coded_index(CodedIndex::member_ref_parent, 1 << 3 | 5) == 0);
  CHECK(decode_coded_index(CodedIndex::custom_attribute_type, 1 << 3 | 2) == 0x06000001);
  CHECK(decode_coded_index(CodedIndex::custom_attribute_type, 1 << 3 | 0) == 0);
  CHECK(decode_coded_index(CodedIndex::type_or_method_def, 5 << 1 | 1) == 0x06000005);
  CHECK(decode_coded_index(CodedIndex::implementation, 5 << 2 | 1) == 0x23000005);
  CHECK(decode_coded_index(CodedIndex::has_custom_debug_information, 5 << 5 | 22) == 0x30000005);
  // A row that no token can name.
  CHECK(decode_coded_index(CodedIndex::type_def_or_ref, 0xffff'fffc) == 0);
}
