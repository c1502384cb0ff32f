#include "core/metadata/portable_pdb.h"

#include "core/memory/file_bytes.h"
#include "core/metadata/signature.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace clr {
namespace {

constexpr std::string_view windows_magic = "Microsoft C/C++ MSF";
constexpr std::uint64_t id_size = 20, fixed_header = 32;

// Columns by position in their rows.
constexpr unsigned document_name_column = 0, document_algorithm_column = 1, document_hash_column = 2;
constexpr unsigned points_document = 0, points_blob_column = 1;

constexpr std::uint8_t max_separator = 0x7f;

std::uint32_t first_u32(std::span<const std::byte> bytes) {
  return bytes.size() < 4 ? 0 : load<std::uint32_t>(bytes, ByteOrder::little);
}

// Reads sequence points one after the other and holds the whole state of the format: each point is written as
// the difference to the one before.
class PointReader {
public:
  PointReader(std::span<const std::byte> blob, std::uint32_t document) : reader_(blob), document_(document) {
    local_signature_ = reader_.compressed_unsigned();
    if (document_ == 0) document_ = reader_.compressed_unsigned();
  }

  std::uint32_t local_signature() const { return local_signature_; }
  std::uint32_t il_offset() const { return il_offset_; } // of the last point; 0 before the first

  bool next(SequencePoint& point) {
    if (reader_.at_end()) return false;
    std::uint32_t delta = reader_.compressed_unsigned();
    // Two points never have the same offset, so a difference of 0 announces another document.
    while (delta == 0 && !first_) {
      document_ = reader_.compressed_unsigned();
      delta = reader_.compressed_unsigned();
    }
    il_offset_ += delta;
    first_ = false;
    check(il_offset_ <= PortablePdb::max_il_offset, "IL offset");

    const std::uint32_t lines = reader_.compressed_unsigned();
    const std::int64_t columns =
        lines == 0 ? std::int64_t{reader_.compressed_unsigned()} : std::int64_t{reader_.compressed_signed()};
    point = {.il_offset = il_offset_, .document = document_, .hidden = lines == 0 && columns == 0};
    if (point.hidden) return true;
    if (line_) {
      line_ = *line_ + reader_.compressed_signed();
      column_ += reader_.compressed_signed();
    } else {
      line_ = reader_.compressed_unsigned();
      column_ = reader_.compressed_unsigned();
    }
    point.start_line = line_number(*line_);
    point.start_column = column_number(column_);
    point.end_line = line_number(*line_ + lines);
    point.end_column = column_number(column_ + columns);
    return true;
  }

private:
  void check(bool good, std::string_view what) const {
    if (!good) reader_.fail(fmt::format("{} outside of what the format allows", what));
  }
  std::uint32_t line_number(std::int64_t line) const {
    check(line >= 0 && line <= PortablePdb::max_line && line != PortablePdb::hidden_line, "line");
    return static_cast<std::uint32_t>(line);
  }
  std::uint32_t column_number(std::int64_t column) const {
    check(column >= 0 && column <= PortablePdb::max_column, "column");
    return static_cast<std::uint32_t>(column);
  }

  SignatureReader reader_;
  std::uint32_t document_, local_signature_ = 0, il_offset_ = 0;
  bool first_ = true;
  std::optional<std::int64_t> line_; // of the last visible point
  std::int64_t column_ = 0;
};

// A place in the points of a method.
struct PointMark {
  PointReader reader; // before the next point
  std::size_t count = 0;
  std::optional<SequencePoint> visible; // the last one
};
constexpr std::size_t points_between_marks = 256;

// Stands for the document of a method's row, which several rows with one blob have each their own of. Greater
// than any number in a blob.
constexpr std::uint32_t document_of_row = 0xffff'ffff;

} // namespace

// Methods whose points do not reach to a second mark are not kept.
struct PortablePdb::PointMarks {
  // By blob, and whether the row has the document.
  std::map<std::pair<std::uint32_t, bool>, std::vector<PointMark>> of;
  std::size_t count = 0;
};

PortablePdb::~PortablePdb() = default;

std::string to_string(const PdbId& id) {
  return fmt::format("{}/{:08x}", to_string(id.guid), id.stamp);
}

PortablePdb::PortablePdb(MappedFile file, std::vector<std::byte> bytes, std::string name)
    : file_(std::move(file)), bytes_(std::move(bytes)), name_(std::move(name)),
      marks_(std::make_unique<PointMarks>()) {
  read_header();
}

std::unique_ptr<PortablePdb> PortablePdb::open(const std::string& path, NamedBy named_by,
                                               std::uint64_t most_copied) {
  const FileBytes file(HostFile::open(path, named_by));
  if (file.size() > most_copied)
    return std::unique_ptr<PortablePdb>(new PortablePdb(MappedFile::open(path, named_by), {}, path));
  return of_bytes(file.read(0, file.size()), path);
}

std::unique_ptr<PortablePdb> PortablePdb::of_bytes(std::vector<std::byte> bytes, std::string name) {
  return std::unique_ptr<PortablePdb>(new PortablePdb({}, std::move(bytes), std::move(name)));
}

void PortablePdb::fail(const std::string& what) const {
  throw Error(ErrorKind::corrupt, fmt::format("{}: {}", name_, what));
}

void PortablePdb::fail(const Error& fault) const {
  throw Error(fault.kind(), fmt::format("{}: {}", name_, fault.what()));
}

void PortablePdb::read_header() {
  const std::span<const std::byte> content = bytes();
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.starts_with(windows_magic))
    throw Error(
        ErrorKind::unsupported_contract,
        fmt::format("{}: a Windows PDB ({}); only portable PDBs are supported", name_, windows_magic));
  if (first_u32(content) != metadata_root_magic) fail("not a PDB");

  memory_ = std::make_unique<HostMemory>(content);
  guarded([&] {
    metadata_.emplace(ByteRange(*memory_, 0, content.size()));
    const std::optional<ByteRange> header = metadata_->stream("#Pdb");
    if (!header) throw Error(ErrorKind::corrupt, "metadata without the stream #Pdb, not a PDB");
    header->read(0, id_.guid);
    id_.stamp = header->u32(id_.guid.size());
    entry_point_ = header->u32(id_size);
    const std::uint64_t tables = header->u64(id_size + 4);
    std::uint64_t at = fixed_header;
    for (unsigned t = 0; t < table_id_limit; ++t) {
      if ((tables >> t & 1) == 0) continue;
      assembly_rows_[t] = header->u32(at);
      at += 4;
    }
  });
  const std::uint32_t methods = metadata_->rows(MetadataTable::method_debug_information);
  if (methods != 0 && methods != assembly_rows(MetadataTable::method_def))
    fail(fmt::format("{} methods with debug information, but the assembly has {}", methods,
                     assembly_rows(MetadataTable::method_def)));
}

PortablePdb::PointsPlace PortablePdb::points_place(std::uint32_t method) const {
  const std::uint32_t row = rid_of(method);
  if (table_of(method) != MetadataTable::method_def || row == 0 ||
      row > metadata_->rows(MetadataTable::method_debug_information))
    return {};
  return {.document = metadata_->cell(MetadataTable::method_debug_information, row, points_document),
          .blob = metadata_->cell(MetadataTable::method_debug_information, row, points_blob_column)};
}

metadata::Blob PortablePdb::points_blob(std::uint32_t method, std::uint32_t& document) const {
  const PointsPlace place = points_place(method);
  document = place.document;
  return metadata_->blob(place.blob);
}

// Calls `use` with each point until it returns false.
template<typename Use>
void PortablePdb::each_point(std::uint32_t method, Use use) const {
  guarded([&] {
    std::uint32_t document = 0;
    const metadata::Blob blob = points_blob(method, document);
    if (blob.size() == 0) return;
    PointReader points(blob.lent(), document);
    SequencePoint point;
    for (std::size_t count = 0; points.next(point); ++count) {
      if (count == max_sequence_points) throw Error(ErrorKind::corrupt, "too many sequence points");
      if (!use(point)) return;
    }
  });
}

std::vector<SequencePoint> PortablePdb::sequence_points(std::uint32_t method) const {
  std::vector<SequencePoint> points;
  each_point(method, [&](const SequencePoint& point) {
    points.push_back(point);
    return true;
  });
  return points;
}

std::optional<SequencePoint> PortablePdb::sequence_point(std::uint32_t method,
                                                         std::uint32_t il_offset) const {
  return guarded([&]() -> std::optional<SequencePoint> {
    const PointsPlace place = points_place(method);
    const metadata::Blob blob = metadata_->blob(place.blob);
    if (blob.size() == 0) return std::nullopt;
    const std::pair key(place.blob, place.document != 0);
    const auto known = marks_->of.find(key);
    std::optional<PointMark> at;
    if (known != marks_->of.end()) {
      const auto behind = std::ranges::upper_bound(
          known->second, il_offset, {}, [](const PointMark& mark) { return mark.reader.il_offset(); });
      if (behind != known->second.begin()) at = *std::prev(behind);
    }
    if (!at) at.emplace(PointMark{.reader = PointReader(blob.lent(), key.second ? document_of_row : 0)});
    std::size_t next = points_between_marks * (known == marks_->of.end() ? 1 : known->second.size() + 1);
    SequencePoint point;
    while (at->reader.next(point)) {
      if (at->count == max_sequence_points) throw Error(ErrorKind::corrupt, "too many sequence points");
      if (point.il_offset > il_offset) break;
      if (!point.hidden) at->visible = point;
      if (++at->count != next) continue;
      if (marks_->count == max_point_marks) {
        *marks_ = {};
        next = 0; // the next question begins anew
        continue;
      }
      marks_->of[key].push_back(*at);
      ++marks_->count;
      next += points_between_marks;
    }
    if (at->visible && at->visible->document == document_of_row) at->visible->document = place.document;
    return at->visible;
  });
}

std::uint32_t PortablePdb::local_signature(std::uint32_t method) const {
  return guarded([&]() -> std::uint32_t {
    std::uint32_t document = 0;
    const metadata::Blob blob = points_blob(method, document);
    // The F# compiler writes a token where the format has a row.
    return blob.size() == 0 ? 0 : rid_of(PointReader(blob.lent(), document).local_signature());
  });
}

std::string PortablePdb::document_name(std::uint32_t row) const {
  if (row == 0) return {};
  return guarded([&] {
    const metadata::Blob blob =
        metadata_->blob(metadata_->cell(MetadataTable::document, row, document_name_column));
    std::string name;
    if (blob.size() == 0) return name;
    SignatureReader reader(blob.lent(), blob.begin());
    const std::uint8_t separator = reader.u8();
    if (separator > max_separator) reader.fail("separator of a document name is not ASCII");
    for (bool first = true; !reader.at_end(); first = false) {
      const bool separated = !first && separator != 0;
      // Index 0 is an empty part: the part before the first slash of a path.
      const metadata::Blob part = metadata_->blob(reader.compressed_unsigned());
      if (name.size() + (separated ? 1 : 0) + part.size() > max_document_name)
        reader.fail("document name too long");
      if (separated) name += static_cast<char>(separator);
      name.append(reinterpret_cast<const char*>(part.lent().data()), part.lent().size());
    }
    return name;
  });
}

std::optional<DocumentHash> PortablePdb::document_hash(std::uint32_t row) const {
  if (row == 0) return std::nullopt;
  return guarded([&]() -> std::optional<DocumentHash> {
    const metadata::Blob digest =
        metadata_->blob(metadata_->cell(MetadataTable::document, row, document_hash_column));
    if (digest.size() == 0) return std::nullopt;
    if (digest.size() > max_document_hash) throw Error(ErrorKind::corrupt, "hash of a document too long");
    const std::span<const std::byte> bytes = digest.lent();
    return DocumentHash{
        metadata_->guid(metadata_->cell(MetadataTable::document, row, document_algorithm_column)),
        {bytes.begin(), bytes.end()}};
  });
}

} // namespace clr
