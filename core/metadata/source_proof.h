// Tells whether a text is the source file that was compiled, by the hash that the compiler put into the PDB.
// Source: dotnet/runtime docs/design/specs/PortablePdb-Metadata.md, table Document.
#pragma once

#include "core/metadata/portable_pdb.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace clr {

enum class SourceFit : std::uint8_t {
  same,         // the hash fits
  other,        // it does not
  no_hash,      // the PDB has none
  unknown_hash, // the PDB has one of a kind that is not known here, or of a wrong length
};

struct SourceProof {
  SourceFit fit = SourceFit::no_hash;
  // Why it is not SourceFit::same, a clause for people: "its SHA-256 is 0123456789abcdef..., the PDB's is
  // fedcba9876543210...".
  std::string why;
};

// Compares the hash of `text`, the bytes of a file, with `hash`: SHA-1 or SHA-256. The text fits also with
// the line ends of the other systems, LF for CRLF or CRLF for LF: source control changes them. No target
// reads; hashes the text once when it fits, else three times.
SourceProof prove_source(const std::optional<DocumentHash>& hash, std::span<const std::byte> text);

} // namespace clr
