// Notes of a minimal core with the PDBs of the assemblies on its stacks: lines and names of local variables
// need no PDB on the host that reads the core.
#pragma once

#include "core/memory/core_writer.h"
#include "core/metadata/portable_pdb.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace clr {

class RecordedPdbs {
public:
  static constexpr std::uint32_t note_type = 0x434c5202; // "CLR", 2; the owner is own_note_owner
  static constexpr std::size_t max_pdbs = 4096;          // of one core
  static constexpr std::size_t max_pdb = 64u << 20;      // bytes of one when expanded

  RecordedPdbs() = default;
  // The PDBs in `core`, in the notes of which they stay compressed: it must outlive this. Notes that are too
  // short are left out. No reads of the target.
  explicit RecordedPdbs(const ElfCore& core);
  // The same for `notes`, which must outlive this.
  explicit RecordedPdbs(std::span<const CoreNote> notes);

  // The PDB with this id; null when there is none. Cost: it is expanded. Throws Error{corrupt} when its bytes
  // are damaged; `name` is for messages.
  std::unique_ptr<PortablePdb> open(const PdbId& id, const std::string& name) const;

  // The bytes of that PDB, as the core says, before it is expanded; 0 when there is none.
  std::uint64_t size_of(const PdbId& id) const;

  // A note with `pdb`; nothing when that has more than max_pdb bytes.
  static std::optional<CoreNote> note(const PortablePdb& pdb);

private:
  struct Packed {
    PdbId id;
    std::uint32_t size = 0;            // bytes of the PDB
    std::span<const std::byte> stream; // raw Deflate
  };
  const Packed* find(const PdbId& id) const;
  void add(std::string_view owner, std::uint32_t type, std::span<const std::byte> description);

  std::vector<Packed> pdbs_;
};

} // namespace clr
