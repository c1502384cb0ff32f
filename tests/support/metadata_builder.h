// Writes ECMA-335 metadata and the PE image around it, so that tests can make forms that no compiler emits.
// Everything is in the header, because it needs the metadata room, which the library of test support does not
// link.
#pragma once

#include "core/metadata/tables.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr::test {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values);
void append_u16(Bytes& out, std::uint32_t value);
void append_u32(Bytes& out, std::uint32_t value);
void append_u64(Bytes& out, std::uint64_t value);
// ECMA-335 compressed unsigned integer.
void append_compressed(Bytes& out, std::uint32_t value);

class MetadataBuilder {
public:
  MetadataBuilder();

  // Heap indexes. Equal strings share one.
  std::uint32_t string(std::string_view text);
  std::uint32_t blob(const Bytes& bytes);
  std::uint32_t guid(std::uint8_t fill);
  std::uint32_t guid(const Bytes& bytes); // 16, in their order
  std::uint32_t user_string(std::u16string_view text);

  // A row with its columns as stored (coded indexes already encoded); the rid.
  std::uint32_t add(MetadataTable table, std::initializer_list<std::uint32_t> columns);
  std::uint32_t rows(MetadataTable table) const;
  // Overwrites one cell of a row made before.
  void set(MetadataTable table, std::uint32_t rid, unsigned column, std::uint32_t value);

  // Shorthands for what names need. Every metadata has Module row 1 and TypeDef row 1 "<Module>".
  std::uint32_t assembly(std::string_view name);
  std::uint32_t assembly_ref(std::string_view name);
  std::uint32_t type(std::string_view name_space, std::string_view name, std::uint32_t flags = 1);
  std::uint32_t nested(std::string_view name, std::uint32_t encloser); // rid of a nested public type
  std::uint32_t method(std::string_view name, const Bytes& signature); // of the last type
  std::uint32_t generic_parameter(MetadataTable owner, std::uint32_t rid, unsigned number,
                                  std::string_view name);
  // TypeRef within AssemblyRef `scope`, or nested in TypeRef `encloser`.
  std::uint32_t type_ref(std::string_view name_space, std::string_view name, std::uint32_t scope);
  std::uint32_t nested_type_ref(std::string_view name, std::uint32_t encloser);

  // How it is written.
  bool uncompressed = false; // stream #-
  bool all_wide = false;     // stream #JTD
  bool extra_data = false;   // HeapSizes 0x40
  HeapWidths heap_widths;
  std::string version = "v4.0.30319";
  std::uint64_t unknown_tables = 0; // extra bits of Valid, each with a row count of 0

  // A portable PDB: stream #Pdb, and only the tables of PDBs.
  struct Pdb {
    std::array<std::byte, 20> id{};
    std::uint32_t entry_point = 0;
    RowCounts assembly_rows{};
  };
  std::optional<Pdb> pdb;

  Bytes build() const;

private:
  std::map<std::string, std::uint32_t, std::less<>> string_index_;
  Bytes strings_, blobs_, guids_, user_strings_;
  std::array<std::vector<std::vector<std::uint32_t>>, table_count> rows_;
};

// The PE image of a managed assembly around some metadata.
struct PeOptions {
  bool pe32_plus = true;
  std::uint16_t machine = 0x8664;
  bool cor = true;
  Bytes native_header;                    // ManagedNativeHeader; none when empty
  std::vector<std::uint32_t> debug_types; // one debug directory entry each, without data
  // Debug directory entries with data, which follows the metadata.
  struct DebugEntry {
    std::uint32_t type = 0, stamp = 0;
    std::uint16_t major = 0, minor = 0;
    Bytes data;
    bool has_rva = true; // else only the place in the file is given
  };
  std::vector<DebugEntry> debug_entries;
  std::string export_name; // one exported name, at RVA 0x1234
};
// As the file's bytes.
Bytes pe_file(const Bytes& metadata, const PeOptions& options = {});
// As laid out by RVA, from pe_file()'s bytes.
Bytes map_pe(const Bytes& file);
// Where pe_file() puts the metadata.
constexpr std::uint32_t pe_metadata_rva = 0x2000, pe_metadata_offset = 0x600;

// --- bodies

namespace detail {
inline void append_integer(Bytes& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

inline void append(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

inline void pad(Bytes& out, std::size_t alignment) {
  while (out.size() % alignment != 0) out.push_back(std::byte{0});
}

inline void put_u32(Bytes& out, std::size_t at, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out[at + i] = static_cast<std::byte>(value >> (8 * i));
}

inline std::uint32_t get_u32(const Bytes& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}
} // namespace detail
using detail::append;
using detail::append_integer;
using detail::get_u32;
using detail::pad;
using detail::put_u32;

inline Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

inline void append_u16(Bytes& out, std::uint32_t value) {
  append_integer(out, value, 2);
}
inline void append_u32(Bytes& out, std::uint32_t value) {
  append_integer(out, value, 4);
}
inline void append_u64(Bytes& out, std::uint64_t value) {
  append_integer(out, value, 8);
}

inline void append_compressed(Bytes& out, std::uint32_t value) {
  if (value < 0x80) {
    append_integer(out, value, 1);
  } else if (value < 0x4000) {
    append_integer(out, 0x80 | value >> 8, 1);
    append_integer(out, value & 0xff, 1);
  } else {
    append_integer(out, 0xc0 | value >> 24, 1);
    append_integer(out, value >> 16 & 0xff, 1);
    append_integer(out, value >> 8 & 0xff, 1);
    append_integer(out, value & 0xff, 1);
  }
}

inline MetadataBuilder::MetadataBuilder() {
  strings_.push_back(std::byte{0});
  blobs_.push_back(std::byte{0});
  user_strings_.push_back(std::byte{0});
  add(MetadataTable::module, {0, string("test.dll"), guid(0x5a), 0, 0});
  add(MetadataTable::type_def, {0, string("<Module>"), 0, 0, 1, 1});
}

inline std::uint32_t MetadataBuilder::string(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto found = string_index_.find(text); found != string_index_.end()) return found->second;
  const std::uint32_t index = static_cast<std::uint32_t>(strings_.size());
  for (const char c : text) strings_.push_back(static_cast<std::byte>(c));
  strings_.push_back(std::byte{0});
  string_index_.emplace(text, index);
  return index;
}

inline std::uint32_t MetadataBuilder::blob(const Bytes& bytes) {
  const std::uint32_t index = static_cast<std::uint32_t>(blobs_.size());
  append_compressed(blobs_, static_cast<std::uint32_t>(bytes.size()));
  append(blobs_, bytes);
  return index;
}

inline std::uint32_t MetadataBuilder::guid(std::uint8_t fill) {
  guids_.insert(guids_.end(), 16, std::byte{fill});
  return static_cast<std::uint32_t>(guids_.size() / 16);
}

inline std::uint32_t MetadataBuilder::guid(const Bytes& bytes) {
  append(guids_, bytes);
  return static_cast<std::uint32_t>(guids_.size() / 16);
}

inline std::uint32_t MetadataBuilder::user_string(std::u16string_view text) {
  const std::uint32_t index = static_cast<std::uint32_t>(user_strings_.size());
  append_compressed(user_strings_, static_cast<std::uint32_t>(text.size() * 2 + 1));
  for (const char16_t c : text) append_u16(user_strings_, c);
  user_strings_.push_back(std::byte{0});
  return index;
}

inline std::uint32_t MetadataBuilder::add(MetadataTable table, std::initializer_list<std::uint32_t> columns) {
  auto& rows = rows_[static_cast<std::size_t>(table)];
  rows.emplace_back(columns);
  return static_cast<std::uint32_t>(rows.size());
}

inline std::uint32_t MetadataBuilder::rows(MetadataTable table) const {
  return static_cast<std::uint32_t>(rows_[static_cast<std::size_t>(table)].size());
}

inline void MetadataBuilder::set(MetadataTable table, std::uint32_t rid, unsigned column,
                                 std::uint32_t value) {
  rows_[static_cast<std::size_t>(table)].at(rid - 1).at(column) = value;
}

inline std::uint32_t MetadataBuilder::assembly(std::string_view name) {
  return add(MetadataTable::assembly, {0x8004, 1, 2, 3, 4, 0, 0, string(name), 0});
}

inline std::uint32_t MetadataBuilder::assembly_ref(std::string_view name) {
  return add(MetadataTable::assembly_ref, {10, 0, 0, 0, 0, 0, string(name), 0, 0});
}

inline std::uint32_t MetadataBuilder::type(std::string_view name_space, std::string_view name,
                                           std::uint32_t flags) {
  return add(MetadataTable::type_def,
             {flags, string(name), string(name_space), 0, 1, rows(MetadataTable::method_def) + 1});
}

inline std::uint32_t MetadataBuilder::nested(std::string_view name, std::uint32_t encloser) {
  const std::uint32_t rid = type("", name, 2);
  add(MetadataTable::nested_class, {rid, encloser});
  return rid;
}

inline std::uint32_t MetadataBuilder::method(std::string_view name, const Bytes& signature) {
  return add(MetadataTable::method_def,
             {0, 0, 0, string(name), blob(signature), rows(MetadataTable::param) + 1});
}

inline std::uint32_t MetadataBuilder::generic_parameter(MetadataTable owner, std::uint32_t rid,
                                                        unsigned number, std::string_view name) {
  return add(MetadataTable::generic_param,
             {number, 0, rid << 1 | (owner == MetadataTable::method_def ? 1u : 0u), string(name)});
}

inline std::uint32_t MetadataBuilder::type_ref(std::string_view name_space, std::string_view name,
                                               std::uint32_t scope) {
  constexpr std::uint32_t assembly_ref_tag = 2;
  return add(MetadataTable::type_ref, {scope << 2 | assembly_ref_tag, string(name), string(name_space)});
}

inline std::uint32_t MetadataBuilder::nested_type_ref(std::string_view name, std::uint32_t encloser) {
  constexpr std::uint32_t type_ref_tag = 3;
  return add(MetadataTable::type_ref, {encloser << 2 | type_ref_tag, string(name), 0});
}

inline Bytes MetadataBuilder::build() const {
  RowCounts counts{};
  std::uint64_t valid = unknown_tables;
  for (unsigned t = 0; t < table_count; ++t) {
    if (pdb && t < static_cast<unsigned>(MetadataTable::document)) continue;
    counts[t] = static_cast<std::uint32_t>(rows_[t].size());
    if (counts[t] != 0) valid |= std::uint64_t{1} << t;
  }
  const TableLayouts layouts =
      layout_tables(counts, pdb ? pdb->assembly_rows : RowCounts{}, heap_widths, all_wide);

  Bytes tables;
  append_u32(tables, 0);
  const unsigned heap_sizes = (heap_widths.strings == 4 ? 1u : 0u) | (heap_widths.guid == 4 ? 2u : 0u) |
                              (heap_widths.blob == 4 ? 4u : 0u) | (extra_data ? 0x40u : 0u);
  append(tables, bytes_of({2, 0, heap_sizes, 1}));
  append_u64(tables, valid);
  append_u64(tables, 0);
  for (unsigned t = 0; t < table_id_limit; ++t)
    if ((valid >> t & 1) != 0) append_u32(tables, counts[t]);
  if (extra_data) append_u32(tables, 0xdddd'dddd);
  for (unsigned t = 0; t < table_count; ++t)
    for (std::uint32_t r = 0; r < counts[t]; ++r) {
      const auto& row = rows_[t][r];
      assert(row.size() == layouts[t].columns);
      for (unsigned c = 0; c < row.size(); ++c) append_integer(tables, row[c], layouts[t].width[c]);
    }
  pad(tables, 4);

  std::vector<std::pair<std::string, const Bytes*>> streams{{uncompressed ? "#-" : "#~", &tables},
                                                            {"#Strings", &strings_},
                                                            {"#US", &user_strings_},
                                                            {"#GUID", &guids_},
                                                            {"#Blob", &blobs_}};
  const Bytes empty;
  if (all_wide) streams.emplace_back("#JTD", &empty);
  Bytes pdb_header;
  if (pdb) {
    pdb_header.assign(pdb->id.begin(), pdb->id.end());
    append_u32(pdb_header, pdb->entry_point);
    std::uint64_t referenced = 0;
    for (unsigned t = 0; t < table_id_limit; ++t)
      if (pdb->assembly_rows[t] != 0) referenced |= std::uint64_t{1} << t;
    append_u64(pdb_header, referenced);
    for (const std::uint32_t rows : pdb->assembly_rows)
      if (rows != 0) append_u32(pdb_header, rows);
    streams.emplace_back("#Pdb", &pdb_header);
  }

  Bytes root;
  append_u32(root, 0x424a'5342);
  append_u16(root, 1);
  append_u16(root, 1);
  append_u32(root, 0);
  Bytes version_bytes;
  for (const char c : version) version_bytes.push_back(static_cast<std::byte>(c));
  version_bytes.push_back(std::byte{0});
  pad(version_bytes, 4);
  append_u32(root, static_cast<std::uint32_t>(version_bytes.size()));
  append(root, version_bytes);
  append_u16(root, 0);
  append_u16(root, static_cast<std::uint32_t>(streams.size()));
  std::vector<std::size_t> offsets;
  for (const auto& [name, content] : streams) {
    offsets.push_back(root.size());
    append_u32(root, 0);
    append_u32(root, static_cast<std::uint32_t>(content->size()));
    for (const char c : name) root.push_back(static_cast<std::byte>(c));
    root.push_back(std::byte{0});
    pad(root, 4);
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    put_u32(root, offsets[i], static_cast<std::uint32_t>(root.size()));
    append(root, *streams[i].second);
    pad(root, 4);
  }
  return root;
}

inline Bytes pe_file(const Bytes& metadata, const PeOptions& options) {
  constexpr std::uint32_t header_offset = 0x80, text_offset = 0x200, data_offset = pe_metadata_offset;
  constexpr std::uint32_t text_rva = 0x1000, data_rva = pe_metadata_rva;
  constexpr std::uint32_t cor_size = 72, native_rva = text_rva + 0x80, debug_rva = text_rva + 0x200,
                          export_rva = text_rva + 0x300;
  const unsigned directories = options.pe32_plus ? 112 : 96;
  const std::uint32_t optional_size = directories + 16 * 8;

  Bytes file(header_offset);
  file[0] = std::byte{'M'};
  file[1] = std::byte{'Z'};
  put_u32(file, 0x3c, header_offset);
  append_u32(file, 0x4550);
  append_u16(file, options.machine);
  append_u16(file, 2); // sections
  append_u32(file, 0);
  append_u32(file, 0);
  append_u32(file, 0);
  append_u16(file, optional_size);
  append_u16(file, 0x2000);
  const std::size_t optional = file.size();
  append_u16(file, options.pe32_plus ? 0x20b : 0x10b);
  file.resize(optional + optional_size);
  if (options.pe32_plus) {
    put_u32(file, optional + 24, 0x8000'0000);
    put_u32(file, optional + 28, 0x1);
  } else {
    put_u32(file, optional + 28, 0x1000'0000);
  }
  const std::size_t size_of_image = optional + 56;
  put_u32(file, size_of_image, 0x4000);
  put_u32(file, optional + 60, text_offset);
  put_u32(file, optional + directories - 4, 16);
  const auto set_directory = [&](unsigned index, std::uint32_t rva, std::size_t size) {
    put_u32(file, optional + directories + 8 * index, rva);
    put_u32(file, optional + directories + 8 * index + 4, static_cast<std::uint32_t>(size));
  };
  if (options.cor) set_directory(14, text_rva, cor_size);
  if (!options.debug_types.empty()) set_directory(6, debug_rva, options.debug_types.size() * 28);
  if (!options.debug_entries.empty()) set_directory(6, debug_rva, options.debug_entries.size() * 28);
  if (!options.export_name.empty()) set_directory(0, export_rva, 0x40);

  Bytes content = metadata;
  std::vector<std::uint32_t> debug_at;
  for (const PeOptions::DebugEntry& entry : options.debug_entries) {
    pad(content, 4);
    debug_at.push_back(static_cast<std::uint32_t>(content.size()));
    append(content, entry.data);
  }
  const std::uint32_t data_size = static_cast<std::uint32_t>((content.size() + 0x1ff) & ~std::size_t{0x1ff});
  if (content.size() > 0x1f00) // more than the pages that every image has
    put_u32(file, size_of_image,
            static_cast<std::uint32_t>(data_rva + (content.size() + 0x10ff) / 0x1000 * 0x1000));
  const auto section = [&](std::string_view name, std::uint32_t rva, std::uint32_t virtual_size,
                           std::uint32_t raw_size, std::uint32_t offset) {
    Bytes header;
    for (std::size_t i = 0; i < 8; ++i)
      header.push_back(static_cast<std::byte>(i < name.size() ? name[i] : '\0'));
    append_u32(header, virtual_size);
    append_u32(header, rva);
    append_u32(header, raw_size);
    append_u32(header, offset);
    header.resize(40);
    append(file, header);
  };
  section(".text", text_rva, 0x400, 0x400, text_offset);
  // Uninitialised bytes at the end exist only when the image is mapped.
  section(".data", data_rva, static_cast<std::uint32_t>(content.size()) + 0x100, data_size, data_offset);

  file.resize(text_offset);
  Bytes text(0x400);
  if (options.cor) {
    put_u32(text, 0, cor_size);
    put_u32(text, 8, data_rva);
    put_u32(text, 12, static_cast<std::uint32_t>(metadata.size()));
    if (!options.native_header.empty()) {
      put_u32(text, 64, native_rva);
      put_u32(text, 68, static_cast<std::uint32_t>(options.native_header.size()));
      std::copy(options.native_header.begin(), options.native_header.end(), text.begin() + 0x80);
    }
  }
  for (std::size_t i = 0; i < options.debug_types.size(); ++i) {
    const std::size_t at = 0x200 + 28 * i;
    put_u32(text, at + 4, 0x1111'1111);
    put_u32(text, at + 8, 0x0002'0001); // minor 2, major 1
    put_u32(text, at + 12, options.debug_types[i]);
    put_u32(text, at + 16, 0x30);
    put_u32(text, at + 20, data_rva);
    put_u32(text, at + 24, data_offset);
  }
  if (!options.export_name.empty()) {
    put_u32(text, 0x300 + 20, 1);
    put_u32(text, 0x300 + 24, 1);
    put_u32(text, 0x300 + 28, export_rva + 0x40);
    put_u32(text, 0x300 + 32, export_rva + 0x44);
    put_u32(text, 0x300 + 36, export_rva + 0x48);
    put_u32(text, 0x340, 0x1234);
    put_u32(text, 0x344, export_rva + 0x50);
    put_u32(text, 0x348, 0);
    for (std::size_t i = 0; i < options.export_name.size(); ++i)
      text[0x350 + i] = static_cast<std::byte>(options.export_name[i]);
  }
  for (std::size_t i = 0; i < options.debug_entries.size(); ++i) {
    const PeOptions::DebugEntry& entry = options.debug_entries[i];
    const std::size_t at = 0x200 + 28 * i;
    put_u32(text, at + 4, entry.stamp);
    put_u32(text, at + 8, std::uint32_t{entry.minor} << 16 | entry.major);
    put_u32(text, at + 12, entry.type);
    put_u32(text, at + 16, static_cast<std::uint32_t>(entry.data.size()));
    put_u32(text, at + 20, entry.has_rva && !entry.data.empty() ? data_rva + debug_at[i] : 0);
    put_u32(text, at + 24, entry.data.empty() ? 0 : data_offset + debug_at[i]);
  }
  append(file, text);
  append(file, content);
  file.resize(data_offset + data_size);
  return file;
}

inline Bytes map_pe(const Bytes& file) {
  const std::size_t header = get_u32(file, 0x3c);
  const std::size_t optional_size = get_u32(file, header + 20) & 0xffff;
  const unsigned sections = get_u32(file, header + 4) >> 16;
  Bytes image(get_u32(file, header + 24 + 56));
  std::copy_n(file.begin(), get_u32(file, header + 24 + 60), image.begin());
  for (unsigned i = 0; i < sections; ++i) {
    const std::size_t at = header + 24 + optional_size + 40 * i;
    const std::size_t size = std::min(get_u32(file, at + 8), get_u32(file, at + 16));
    std::copy_n(file.begin() + get_u32(file, at + 20), size, image.begin() + get_u32(file, at + 12));
  }
  return image;
}

} // namespace clr::test
