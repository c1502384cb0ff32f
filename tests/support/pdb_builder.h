// Writes portable PDBs, and assemblies that refer to them. Everything is in the header, for the reason in
// metadata_builder.h.
#pragma once

#include "core/metadata/pdb_id.h"
#include "tests/support/metadata_builder.h"

#include <zlib.h>

namespace clr::test {

// ECMA-335 compressed signed integer.
inline void append_compressed_signed(Bytes& out, std::int32_t value) {
  const std::uint32_t sign = value < 0 ? 1 : 0;
  const auto rotated = [&](unsigned bits) {
    return (static_cast<std::uint32_t>(value) << 1 & ((1u << bits) - 1)) | sign;
  };
  // The sign takes part in the width that is chosen.
  if (value >= -(1 << 6) && value < 1 << 6) {
    append_integer(out, rotated(7), 1);
  } else if (value >= -(1 << 13) && value < 1 << 13) {
    append_integer(out, 0x80 | rotated(14) >> 8, 1);
    append_integer(out, rotated(14) & 0xff, 1);
  } else {
    const std::uint32_t raw = 0xc000'0000 | rotated(29);
    for (int shift = 24; shift >= 0; shift -= 8) append_integer(out, raw >> shift & 0xff, 1);
  }
}

// The sequence points blob of a method.
class PointsBlob {
public:
  // `document` 0: the one of the method's row; else it stands in the blob.
  explicit PointsBlob(std::uint32_t local_signature = 0, std::uint32_t document = 0) {
    append_compressed(bytes, local_signature);
    if (document != 0) append_compressed(bytes, document);
  }

  PointsBlob& at(std::uint32_t il_offset, std::int32_t line, std::int32_t column, std::int32_t end_line,
                 std::int32_t end_column) {
    offset(il_offset);
    append_compressed(bytes, static_cast<std::uint32_t>(end_line - line));
    if (end_line == line)
      append_compressed(bytes, static_cast<std::uint32_t>(end_column - column));
    else
      append_compressed_signed(bytes, end_column - column);
    if (line_ == 0) {
      append_compressed(bytes, static_cast<std::uint32_t>(line));
      append_compressed(bytes, static_cast<std::uint32_t>(column));
    } else {
      append_compressed_signed(bytes, line - line_);
      append_compressed_signed(bytes, column - column_);
    }
    line_ = line;
    column_ = column;
    return *this;
  }
  PointsBlob& hidden(std::uint32_t il_offset) {
    offset(il_offset);
    append(bytes, bytes_of({0, 0}));
    return *this;
  }
  PointsBlob& document(std::uint32_t row) {
    append_compressed(bytes, 0);
    append_compressed(bytes, row);
    return *this;
  }

  Bytes bytes;

private:
  void offset(std::uint32_t il_offset) {
    append_compressed(bytes, il_offset - il_offset_);
    il_offset_ = il_offset;
  }
  std::uint32_t il_offset_ = 0;
  std::int32_t line_ = 0, column_ = 0;
};

class PdbBuilder {
public:
  PdbBuilder() {
    metadata.pdb = MetadataBuilder::Pdb();
    metadata.version = "PDB v1.0";
    for (std::size_t i = 0; i < 20; ++i) metadata.pdb->id[i] = static_cast<std::byte>(0xa0 + i);
    assembly_rows(MetadataTable::module) = 1;
  }

  MetadataBuilder metadata;

  std::uint32_t& assembly_rows(MetadataTable table) {
    return metadata.pdb->assembly_rows[static_cast<std::size_t>(table)];
  }
  PdbId id() const {
    PdbId id;
    const auto& raw = metadata.pdb->id;
    std::copy_n(raw.begin(), 16, id.guid.begin());
    for (unsigned i = 0; i < 4; ++i) id.stamp |= std::to_integer<std::uint32_t>(raw[16 + i]) << (8 * i);
    return id;
  }

  // The row of a document whose name is written as parts between `separator`s.
  std::uint32_t document(std::string_view path, char separator = '/') {
    Bytes name;
    name.push_back(static_cast<std::byte>(separator));
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(separator, at), path.size());
      append_compressed(name, part(path.substr(at, end - at)));
      at = end + 1;
    }
    return document_of_blob(metadata.blob(name));
  }
  std::uint32_t document_of_blob(std::uint32_t name) {
    return metadata.add(MetadataTable::document, {name, 0, 0, 0});
  }
  // The next method: its row.
  std::uint32_t method(std::uint32_t document = 0, const Bytes& points = {}) {
    ++assembly_rows(MetadataTable::method_def);
    return metadata.add(MetadataTable::method_debug_information,
                        {document, points.empty() ? 0 : metadata.blob(points)});
  }
  // A scope of a method; scopes come in the order of the table. Its names are those that are added until the
  // next.
  std::uint32_t scope(std::uint32_t method, std::uint32_t start, std::uint32_t length) {
    return metadata.add(MetadataTable::local_scope,
                        {method, 0, metadata.rows(MetadataTable::local_variable) + 1,
                         metadata.rows(MetadataTable::local_constant) + 1, start, length});
  }
  void variable(std::uint32_t slot, std::string_view name, std::uint32_t attributes = 0) {
    metadata.add(MetadataTable::local_variable, {attributes, slot, metadata.string(name)});
  }
  void constant(std::string_view name, const Bytes& signature) {
    metadata.add(MetadataTable::local_constant, {metadata.string(name), metadata.blob(signature)});
  }
  void state_machine(std::uint32_t move_next, std::uint32_t kickoff) {
    metadata.add(MetadataTable::state_machine_method, {move_next, kickoff});
  }
  // `tag`: of the coded index, 0 MethodDef, 7 Module, 22 Document. In the order of row, then tag.
  void information(unsigned tag, std::uint32_t row, const Bytes& kind, const Bytes& value) {
    metadata.add(MetadataTable::custom_debug_information,
                 {row << 5 | tag, metadata.guid(kind), metadata.blob(value)});
  }

  Bytes build() const { return metadata.build(); }

private:
  std::uint32_t part(std::string_view text) {
    if (text.empty()) return 0;
    if (const auto known = parts_.find(text); known != parts_.end()) return known->second;
    Bytes bytes;
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    return parts_.emplace(text, metadata.blob(bytes)).first->second;
  }
  std::map<std::string, std::uint32_t, std::less<>> parts_;
};

// --- debug directory entries

inline Bytes text_bytes(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

inline PeOptions::DebugEntry code_view_entry(const PdbId& id, std::string_view path, bool portable = true) {
  Bytes data = text_bytes("RSDS");
  data.insert(data.end(), id.guid.begin(), id.guid.end());
  append_u32(data, 1);
  append(data, text_bytes(path));
  data.push_back(std::byte{0});
  return {.type = 2,
          .stamp = id.stamp,
          .major = 0x100,
          .minor = static_cast<std::uint16_t>(portable ? 0x504d : 0),
          .data = data};
}

inline Bytes deflate_raw(const Bytes& bytes) {
  z_stream stream{};
  ::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes out(::deflateBound(&stream, static_cast<uLong>(bytes.size())) + 16);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return out;
}

inline PeOptions::DebugEntry embedded_entry(const Bytes& pdb) {
  Bytes data = text_bytes("MPDB");
  append_u32(data, static_cast<std::uint32_t>(pdb.size()));
  append(data, deflate_raw(pdb));
  return {.type = 17, .major = 0x100, .minor = 0x100, .data = data};
}

} // namespace clr::test
