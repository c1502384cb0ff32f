// Makes Deflate streams, as assemblies and PDBs embed them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace clr {

// `bytes` as a raw Deflate stream (RFC 1951, without zlib's header), which inflate_raw expands. Throws
// Error{invalid_argument} for 4 GB and more.
std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes);

} // namespace clr
