#include "core/metadata/pe_debug_directory.h"

#include "core/metadata/inflate.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint32_t code_view_type = 2, reproducible_type = 16, embedded_type = 17, checksum_type = 19;
constexpr std::uint16_t portable_minor = 0x504d;      // "PM"
constexpr std::uint32_t rsds_magic = 0x5344'5352;     // "RSDS"
constexpr std::uint32_t embedded_magic = 0x4244'504d; // "MPDB"
constexpr std::uint64_t code_view_header = 24, embedded_header = 8;

// The data of an entry. In an image that is laid out by RVA, an entry without RVA has no bytes.
ByteRange data_of(const PeImage& image, const PeDebugEntry& entry) {
  if (entry.data.rva != 0) return image.range_of(entry.data);
  if (image.mapped()) throw Error(ErrorKind::memory_missing, "its data is in the file only");
  return {image.memory(), image.base() + entry.file_offset, entry.data.size};
}

CodeViewEntry read_code_view(const ByteRange& data, const PeDebugEntry& entry) {
  if (data.u32(0) != rsds_magic) throw Error(ErrorKind::unsupported_contract, "its format is not RSDS");
  CodeViewEntry result;
  data.read(4, result.id.guid);
  result.id.stamp = entry.time_stamp;
  result.age = data.u32(20);
  result.portable = entry.minor == portable_minor;
  result.path = data.c_string(code_view_header, max_pdb_path);
  return result;
}

EmbeddedPdb read_embedded(const ByteRange& data) {
  if (data.u32(0) != embedded_magic) throw Error(ErrorKind::corrupt, "it does not begin with MPDB");
  return {data.u32(4), data.from(embedded_header)};
}

PdbChecksum read_checksum(const ByteRange& data) {
  if (data.size() > max_checksum) throw Error(ErrorKind::corrupt, "it is too long");
  PdbChecksum result;
  result.algorithm = data.c_string(0, max_checksum);
  const std::uint64_t at = result.algorithm.size() + 1;
  result.digest = data.bytes(at, static_cast<std::size_t>(data.size() - at));
  return result;
}

void read_entry(PeDebugDirectory& directory, const PeImage& image, const PeDebugEntry& entry) {
  if (entry.type == code_view_type)
    directory.code_view.push_back(read_code_view(data_of(image, entry), entry));
  else if (entry.type == embedded_type && !directory.embedded)
    directory.embedded = read_embedded(data_of(image, entry));
  else if (entry.type == checksum_type)
    directory.checksums.push_back(read_checksum(data_of(image, entry)));
  else if (entry.type == reproducible_type)
    directory.reproducible = true;
}

} // namespace

const CodeViewEntry* PeDebugDirectory::portable() const {
  const auto found =
      std::find_if(code_view.begin(), code_view.end(), [](const CodeViewEntry& e) { return e.portable; });
  return found == code_view.end() ? nullptr : &*found;
}

PeDebugDirectory read_debug_directory(const PeImage& image) {
  PeDebugDirectory directory;
  for (const PeDebugEntry& entry : image.debug_entries()) try {
      read_entry(directory, image, entry);
    } catch (const Error& fault) {
      directory.faults.push_back(
          fmt::format("debug directory entry of type {}: {}", entry.type, fault.what()));
    }
  return directory;
}

std::vector<std::byte> expand(const EmbeddedPdb& embedded) {
  if (embedded.compressed.size() > max_embedded_compressed)
    throw Error(ErrorKind::corrupt, fmt::format("an embedded PDB of {} bytes is larger than {} bytes",
                                                embedded.compressed.size(), max_embedded_compressed));
  if (const auto lent = embedded.compressed.lent(); !lent.empty())
    return inflate_raw(lent, embedded.size, max_embedded_pdb);
  const std::vector<std::byte> copy =
      embedded.compressed.bytes(0, static_cast<std::size_t>(embedded.compressed.size()));
  return inflate_raw(copy, embedded.size, max_embedded_pdb);
}

} // namespace clr
