// Finds the PDB of an assembly: in the assembly itself, beside it, where the user says, where the build put
// it. Only a PDB with the assembly's id is taken.
#pragma once

#include "core/memory/path_map.h"
#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/portable_pdb.h"

#include <memory>
#include <string>
#include <vector>

namespace clr {

struct PdbSearch {
  PathMap paths; // where the target's files are on this host
  // Each a folder that holds PDBs, a symbol cache, or a PDB itself. A cache is laid out as symbol servers
  // are: NAME.pdb/GUIDffffffff/NAME.pdb, in either case (SSQP key conventions, dotnet/diagnostics
  // documentation/symbols/SSQP_Key_Conventions.md).
  std::vector<std::string> places;
};

struct PdbResult {
  std::unique_ptr<PortablePdb> pdb; // null: none was found
  std::string path;                 // the file on this host, or the assembly that it is embedded in
  bool embedded = false;

  struct Refusal {
    std::string path; // of the candidate
    std::string why;  // a sentence without its full stop; names the candidate
  };
  std::vector<Refusal> refusals;    // candidates that exist and were not taken, in the order of the search
  std::vector<std::string> missing; // where there was no file

  // Why there is no PDB, in one line; empty when there is one.
  std::string reason() const;

  std::string no_reference; // why nothing was looked for: the assembly names no portable PDB
};

// `assembly_path` is what the target calls the assembly (may be empty). Throws nothing: what goes wrong with
// a candidate is its refusal. Cost: no reads of the target, except for an embedded PDB; up to 10 files are
// looked for per place.
PdbResult locate_pdb(const PeDebugDirectory& directory, const std::string& assembly_path,
                     const PdbSearch& search);

} // namespace clr
