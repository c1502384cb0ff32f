#include "core/metadata/recorded_pdbs.h"

#include "core/memory/target_bytes.h"
#include "core/metadata/deflate.h"
#include "core/metadata/inflate.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {

namespace {
// The note: GUID and stamp of the PDB's id, its size (4 bytes), a raw Deflate stream. Little-endian, as PDBs
// are, on every target.
constexpr std::size_t guid_size = sizeof(metadata::Guid), header_size = guid_size + 8;
constexpr Platform little_endian{.byte_order = ByteOrder::little};
} // namespace

RecordedPdbs::RecordedPdbs(const ElfCore& core) {
  for (const ElfNote& note : core.notes().all) add(note.owner, note.type, note.description);
}

RecordedPdbs::RecordedPdbs(std::span<const CoreNote> notes) {
  for (const CoreNote& note : notes) add(note.owner, note.type, note.description);
}

void RecordedPdbs::add(std::string_view owner, std::uint32_t type, std::span<const std::byte> description) {
  if (owner != own_note_owner || type != note_type || description.size() < header_size ||
      pdbs_.size() >= max_pdbs)
    return;
  Packed packed;
  std::copy_n(description.begin(), guid_size, packed.id.guid.begin());
  packed.id.stamp = load<std::uint32_t>(description.subspan(guid_size), ByteOrder::little);
  packed.size = load<std::uint32_t>(description.subspan(guid_size + 4), ByteOrder::little);
  packed.stream = description.subspan(header_size);
  pdbs_.push_back(packed);
}

const RecordedPdbs::Packed* RecordedPdbs::find(const PdbId& id) const {
  const auto found =
      std::find_if(pdbs_.begin(), pdbs_.end(), [&](const Packed& pdb) { return pdb.id == id; });
  return found == pdbs_.end() ? nullptr : &*found;
}

std::uint64_t RecordedPdbs::size_of(const PdbId& id) const {
  const Packed* const found = find(id);
  return found == nullptr ? 0 : found->size;
}

std::unique_ptr<PortablePdb> RecordedPdbs::open(const PdbId& id, const std::string& name) const {
  const Packed* const found = find(id);
  if (found == nullptr) return nullptr;
  return PortablePdb::of_bytes(inflate_raw(found->stream, found->size, max_pdb), name);
}

std::optional<CoreNote> RecordedPdbs::note(const PortablePdb& pdb) {
  const std::span<const std::byte> content = pdb.bytes();
  if (content.size() > max_pdb) return std::nullopt;
  TargetBytes out(little_endian);
  out.append(pdb.id().guid);
  out.u32(pdb.id().stamp);
  out.u32(content.size());
  out.append(deflate_raw(content));
  return CoreNote{own_note_owner, note_type, out.bytes()};
}

} // namespace clr
