// The id that connects a portable PDB with its assembly.
#pragma once

#include "core/metadata/metadata.h"

#include <cstdint>
#include <string>

namespace clr {

// The 20 bytes of the PDB's stream #Pdb. The assembly holds them as GUID and stamp of a CodeView entry.
// Source: dotnet/runtime docs/design/specs/PortablePdb-Metadata.md, PE-COFF.md.
struct PdbId {
  metadata::Guid guid{};
  std::uint32_t stamp = 0;

  bool operator==(const PdbId&) const = default;
};

// "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx/xxxxxxxx".
std::string to_string(const PdbId& id);

} // namespace clr
