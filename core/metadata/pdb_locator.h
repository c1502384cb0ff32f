// Finds the PDB of an assembly: in the assembly itself, in the core, beside the assembly, in places that the
// user named, or where the build put it. Only a PDB with the assembly's id is accepted.
#pragma once

#include "core/memory/byte_room.h"
#include "core/memory/path_map.h"
#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/portable_pdb.h"
#include "core/metadata/recorded_pdbs.h"

#include <memory>
#include <string>
#include <vector>

namespace clr {

struct PdbSearch {
  PathMap paths; // where the target's files are on this host
  // Each place is a folder with PDBs, a symbol cache, or a PDB file. A cache has the layout of symbol
  // servers: NAME.pdb/GUIDffffffff/NAME.pdb, in either case (SSQP key conventions, dotnet/diagnostics
  // documentation/symbols/SSQP_Key_Conventions.md).
  std::vector<std::string> places;
};

struct PdbResult {
  std::unique_ptr<PortablePdb> pdb; // null: none was found
  std::string path;                 // the file on this host, or the assembly or core that contains the PDB
  bool embedded = false;            // it is in the assembly
  bool recorded = false;            // it is in the core

  struct Refusal {
    std::string path; // of the candidate
    std::string why;  // a sentence without its full stop; names the candidate
  };
  std::vector<Refusal> refusals;    // candidates that exist and were not accepted, in the order of the search
  std::vector<std::string> missing; // paths without a file

  // Why there is no PDB, in one line; empty when there is one.
  std::string reason() const;

  std::string no_reference; // why there was no search: the assembly names no portable PDB
};

// `assembly_path` is the assembly's path in the target (may be empty); `recorded` are the PDBs that the core
// keeps. What the target holds is expanded as far as `room` goes, which is used up, and files that it has no
// room for are mapped; null: as far as each limit goes. Never throws: a problem of a candidate becomes its
// refusal. Cost: no reads of the target, except for an embedded PDB; up to 10 files are tried per place.
PdbResult locate_pdb(const PeDebugDirectory& directory, const std::string& assembly_path,
                     const PdbSearch& search, const RecordedPdbs& recorded = {}, ByteRoom* room = nullptr);

} // namespace clr
