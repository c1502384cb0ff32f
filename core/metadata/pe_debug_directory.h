// The debug directory of an assembly: which PDB belongs to it, and where the PDB may be.
// Source: dotnet/runtime docs/design/specs/PE-COFF.md.
#pragma once

#include "core/metadata/pdb_id.h"
#include "core/metadata/pe_image.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A CodeView entry: it names a PDB file.
struct CodeViewEntry {
  PdbId id; // the stamp is meaningful only for a portable PDB
  std::uint32_t age = 0;
  bool portable = false; // else a Windows PDB, of the managed code or of a ReadyToRun image's native code
  std::string path;      // on the build machine, with separators of either kind
};

// A digest of the PDB's bytes, with its id replaced by zeros.
struct PdbChecksum {
  std::string algorithm; // "SHA256"
  std::vector<std::byte> digest;
};

struct EmbeddedPdb {
  std::uint32_t size = 0; // bytes of the PDB
  ByteRange compressed;   // raw Deflate; bytes of the image, read when needed
};

struct PeDebugDirectory {
  std::vector<CodeViewEntry> code_view; // in the image's order
  std::optional<EmbeddedPdb> embedded;
  std::vector<PdbChecksum> checksums;
  bool reproducible = false; // the same source makes the same bytes
  // Entries that could not be read, one sentence each.
  std::vector<std::string> faults;

  // The entry of the portable PDB; null when there is none.
  const CodeViewEntry* portable() const;
};

// Reads the directory. An entry whose bytes are missing or damaged becomes a fault in the result. Throws
// Error{memory_missing, corrupt} when the directory itself cannot be read. The image's memory must outlive
// the result (EmbeddedPdb). Cost: one read for the directory and two for each entry.
PeDebugDirectory read_debug_directory(const PeImage& image);

constexpr std::size_t max_pdb_path = 4096;                    // bytes
constexpr std::size_t max_checksum = 256;                     // bytes of name and digest
constexpr std::uint32_t max_embedded_pdb = 512u << 20;        // bytes when expanded
constexpr std::uint32_t max_embedded_compressed = 128u << 20; // bytes

// The embedded PDB's bytes. Throws Error{memory_missing, corrupt}. Cost: one read of all of it.
std::vector<std::byte> expand(const EmbeddedPdb& embedded);

} // namespace clr
