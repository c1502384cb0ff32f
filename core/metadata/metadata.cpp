#include "core/metadata/metadata.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned string_heap_wide = 0x01, guid_heap_wide = 0x02, blob_heap_wide = 0x04, extra_data = 0x40;
constexpr std::uint64_t table_header_size = 24;

constexpr std::size_t index_of(MetadataTable table) {
  return static_cast<std::size_t>(table);
}

} // namespace

std::string to_string(const metadata::Guid& guid) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(guid[i]); };
  const auto u16 = [&](std::size_t i) { return byte(i) | byte(i + 1) << 8; };
  return fmt::format("{:08x}-{:04x}-{:04x}-{:02x}{:02x}-{:02x}{:02x}{:02x}{:02x}{:02x}{:02x}",
                     u16(0) | u16(2) << 16, u16(4), u16(6), byte(8), byte(9), byte(10), byte(11), byte(12),
                     byte(13), byte(14), byte(15));
}

// The bytes of one row, lent or copied.
struct Metadata::Row {
  const TableLayout* layout = nullptr;
  const std::byte* lent = nullptr;
  std::array<std::byte, max_columns * 4> copy;

  std::uint32_t operator[](unsigned column) const {
    const std::byte* bytes = lent != nullptr ? lent : copy.data();
    const std::span<const std::byte> cell(bytes + layout->offset[column], layout->width[column]);
    switch (cell.size()) {
    case 1:
      return load<std::uint8_t>(cell, ByteOrder::little);
    case 2:
      return load<std::uint16_t>(cell, ByteOrder::little);
    default:
      return load<std::uint32_t>(cell, ByteOrder::little);
    }
  }
  std::uint16_t u16(unsigned column) const { return static_cast<std::uint16_t>((*this)[column]); }
  std::uint32_t coded(CodedIndex kind, unsigned column) const {
    return decode_coded_index(kind, (*this)[column]);
  }
};

Metadata::Metadata(ByteRange bytes) : bytes_(bytes) {
  if (bytes_.u32(0) != metadata_root_magic) throw_corrupt(bytes_.begin(), "no metadata root");
  const std::uint32_t version_size = bytes_.u32(12);
  if (version_size > max_version) throw_corrupt(bytes_.begin(), "metadata version string too long");
  const std::vector<std::byte> version = bytes_.bytes(16, version_size);
  const char* text = reinterpret_cast<const char*>(version.data());
  version_.assign(text, std::find(text, text + version.size(), '\0'));

  std::uint64_t at = 16 + std::uint64_t{version_size};
  const unsigned count = bytes_.u16(at + 2);
  if (count > max_streams) throw_corrupt(bytes_.begin() + at, "metadata with too many streams");
  at += 4;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t offset = bytes_.u32(at), size = bytes_.u32(at + 4);
    std::string name = bytes_.c_string(at + 8, max_stream_name);
    at += 8 + (name.size() + 4) / 4 * 4;
    streams_.push_back({std::move(name), bytes_.slice(offset, size)});
  }

  if (const auto s = stream("#Strings")) strings_ = *s;
  if (const auto s = stream("#Blob")) blobs_ = *s;
  if (const auto s = stream("#GUID")) guids_ = *s;
  if (const auto s = stream("#US")) user_strings_ = *s;
  const bool all_wide = stream("#JTD").has_value();
  if (const auto s = stream("#~")) {
    read_tables(*s, all_wide);
  } else if (const auto edited = stream("#-")) {
    uncompressed_ = true;
    read_tables(*edited, all_wide);
  }
}

std::optional<ByteRange> Metadata::stream(std::string_view name) const {
  for (const Stream& stream : streams_)
    if (stream.name == name) return stream.bytes;
  return std::nullopt;
}

void Metadata::read_tables(const ByteRange& stream, bool all_wide) {
  const unsigned heap_sizes = stream.u8(6);
  const std::uint64_t valid = stream.u64(8);
  std::uint64_t at = table_header_size;
  for (unsigned t = 0; t < table_id_limit; ++t) {
    if ((valid >> t & 1) == 0) continue;
    // The rows of an unknown table have an unknown size, so nothing behind it could be found.
    if (t >= table_count) throw_corrupt(stream.begin(), fmt::format("unknown metadata table {:#x}", t));
    rows_[t] = stream.u32(at);
    if (rows_[t] > max_rows) throw_corrupt(stream.begin() + at, "metadata table with too many rows");
    at += 4;
  }
  if ((heap_sizes & extra_data) != 0) at += 4;

  RowCounts referenced{};
  if (const auto pdb = this->stream("#Pdb")) {
    const std::uint64_t tables = pdb->u64(24);
    std::uint64_t pdb_at = 32;
    for (unsigned t = 0; t < table_id_limit; ++t)
      if ((tables >> t & 1) != 0) {
        referenced[t] = pdb->u32(pdb_at);
        pdb_at += 4;
      }
  }
  const auto wide = [&](unsigned bit) { return static_cast<std::uint8_t>((heap_sizes & bit) != 0 ? 4 : 2); };
  layouts_ = layout_tables(
      rows_, referenced,
      {.strings = wide(string_heap_wide), .guid = wide(guid_heap_wide), .blob = wide(blob_heap_wide)},
      all_wide);
  for (unsigned t = 0; t < table_count; ++t) {
    table_offset_[t] = at;
    at += std::uint64_t{rows_[t]} * layouts_[t].row_size;
  }
  if (at > stream.size()) throw_corrupt(stream.begin(), "metadata tables exceed their stream");
  tables_ = stream;
}

void Metadata::check_row(MetadataTable table, std::uint32_t rid) const {
  if (index_of(table) >= table_count || rid == 0 || rid > rows(table))
    throw_corrupt(bytes_.begin(),
                  fmt::format("row {} of metadata table {:#04x} does not exist", rid, index_of(table)));
}

Metadata::Row Metadata::row(MetadataTable table, std::uint32_t rid) const {
  check_row(table, rid);
  Row row;
  row.layout = &layouts_[index_of(table)];
  const std::uint64_t at = table_offset_[index_of(table)] + std::uint64_t{rid - 1} * row.layout->row_size;
  if (const auto lent = tables_.lent(at, row.layout->row_size); !lent.empty())
    row.lent = lent.data();
  else
    tables_.read(at, std::span(row.copy).first(row.layout->row_size));
  return row;
}

std::uint32_t Metadata::cell(MetadataTable table, std::uint32_t rid, unsigned column) const {
  check_row(table, rid);
  const TableLayout& layout = layouts_[index_of(table)];
  if (column >= layout.columns) throw_corrupt(bytes_.begin(), "metadata column does not exist");
  const std::uint64_t at =
      table_offset_[index_of(table)] + std::uint64_t{rid - 1} * layout.row_size + layout.offset[column];
  switch (layout.width[column]) {
  case 1:
    return tables_.u8(at);
  case 2:
    return tables_.u16(at);
  default:
    return tables_.u32(at);
  }
}

ByteRange Metadata::table_bytes(MetadataTable table) const {
  if (index_of(table) >= table_count) return {};
  const std::size_t t = index_of(table);
  return tables_.slice(table_offset_[t], std::uint64_t{rows_[t]} * layouts_[t].row_size);
}

bool Metadata::valid(std::uint32_t token) const {
  const std::size_t table = token >> 24;
  return table < table_count && rid_of(token) != 0 && rid_of(token) <= rows_[table];
}

std::uint32_t Metadata::module_name() const {
  return row(MetadataTable::module, 1)[1];
}

metadata::Guid Metadata::mvid() const {
  return guid(row(MetadataTable::module, 1)[2]);
}

TypeRefRow Metadata::type_ref(std::uint32_t rid) const {
  const Row r = row(MetadataTable::type_ref, rid);
  return {r.coded(CodedIndex::resolution_scope, 0), r[1], r[2]};
}

TypeDefRow Metadata::type_def(std::uint32_t rid) const {
  const Row r = row(MetadataTable::type_def, rid);
  return {r[0], r[1], r[2], r.coded(CodedIndex::type_def_or_ref, 3), r[4], r[5]};
}

MethodDefRow Metadata::method_def(std::uint32_t rid) const {
  const Row r = row(MetadataTable::method_def, rid);
  return {r[0], r.u16(1), r.u16(2), r[3], r[4], r[5]};
}

FieldRow Metadata::field(std::uint32_t rid) const {
  const Row r = row(MetadataTable::field, rid);
  return {r.u16(0), r[1], r[2]};
}

ParamRow Metadata::param(std::uint32_t rid) const {
  const Row r = row(MetadataTable::param, rid);
  return {r.u16(0), r.u16(1), r[2]};
}

MemberRefRow Metadata::member_ref(std::uint32_t rid) const {
  const Row r = row(MetadataTable::member_ref, rid);
  return {r.coded(CodedIndex::member_ref_parent, 0), r[1], r[2]};
}

GenericParamRow Metadata::generic_param(std::uint32_t rid) const {
  const Row r = row(MetadataTable::generic_param, rid);
  return {r.u16(0), r.u16(1), r.coded(CodedIndex::type_or_method_def, 2), r[3]};
}

AssemblyRow Metadata::assembly() const {
  const Row r = row(MetadataTable::assembly, 1);
  return {r.u16(1), r.u16(2), r.u16(3), r.u16(4), r[5], r[7]};
}

AssemblyRefRow Metadata::assembly_ref(std::uint32_t rid) const {
  const Row r = row(MetadataTable::assembly_ref, rid);
  return {r.u16(0), r.u16(1), r.u16(2), r.u16(3), r[6]};
}

std::uint32_t Metadata::module_ref_name(std::uint32_t rid) const {
  return row(MetadataTable::module_ref, rid)[0];
}

std::uint32_t Metadata::type_spec(std::uint32_t rid) const {
  return row(MetadataTable::type_spec, rid)[0];
}

std::uint32_t Metadata::stand_alone_sig(std::uint32_t rid) const {
  return row(MetadataTable::stand_alone_sig, rid)[0];
}

MethodSpecRow Metadata::method_spec(std::uint32_t rid) const {
  const Row r = row(MetadataTable::method_spec, rid);
  return {r.coded(CodedIndex::method_def_or_ref, 0), r[1]};
}

CustomAttributeRow Metadata::custom_attribute(std::uint32_t rid) const {
  const Row r = row(MetadataTable::custom_attribute, rid);
  return {r.coded(CodedIndex::has_custom_attribute, 0), r.coded(CodedIndex::custom_attribute_type, 1), r[2]};
}

ExportedTypeRow Metadata::exported_type(std::uint32_t rid) const {
  const Row r = row(MetadataTable::exported_type, rid);
  return {r[0], r[1], r[2], r[3], r.coded(CodedIndex::implementation, 4)};
}

std::string Metadata::string(std::uint32_t index) const {
  return index == 0 ? std::string() : strings_.c_string(index, max_string);
}

metadata::Blob Metadata::blob(std::uint32_t index) const {
  return index == 0 ? metadata::Blob() : heap_entry(blobs_, index);
}

ByteRange Metadata::heap_entry(const ByteRange& heap, std::uint32_t index) const {
  // The length is a compressed integer of one, two or four bytes.
  const std::uint8_t first = heap.u8(index);
  if ((first & 0x80) == 0) return heap.slice(std::uint64_t{index} + 1, first);
  std::uint32_t size = 0;
  unsigned width = 2;
  if ((first & 0xc0) == 0x80) {
    size = (first & 0x3fu) << 8 | heap.u8(std::uint64_t{index} + 1);
  } else if ((first & 0xe0) == 0xc0) {
    size = (first & 0x1fu) << 24 | std::uint32_t{heap.u8(std::uint64_t{index} + 1)} << 16 |
           std::uint32_t{heap.u8(std::uint64_t{index} + 2)} << 8 | heap.u8(std::uint64_t{index} + 3);
    width = 4;
  } else {
    throw_corrupt(heap.begin() + index, "blob of impossible length");
  }
  return heap.slice(std::uint64_t{index} + width, size);
}

metadata::Guid Metadata::guid(std::uint32_t index) const {
  metadata::Guid guid{};
  if (index != 0) guids_.read((std::uint64_t{index} - 1) * guid.size(), guid);
  return guid;
}

std::u16string Metadata::user_string(std::uint32_t offset) const {
  const ByteRange entry = heap_entry(user_strings_, offset);
  if (entry.size() > max_user_string) throw_corrupt(entry.begin(), "user string too long");
  // The length is odd. The last byte says whether some character needs more than ASCII handling.
  const std::vector<std::byte> bytes = entry.bytes(0, static_cast<std::size_t>(entry.size() / 2 * 2));
  std::u16string text;
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    text += static_cast<char16_t>(load<std::uint16_t>(std::span(bytes).subspan(i), ByteOrder::little));
  return text;
}

} // namespace clr
