// Expands Deflate streams, which assemblies and PDBs embed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace clr {

// Expands a raw Deflate stream (RFC 1951, without zlib's header) to its `size` bytes. Throws Error{corrupt}
// when the stream is damaged, when it makes more or fewer bytes, and when `size` exceeds `limit` or the
// largest size that a stream of that length can make.
std::vector<std::byte> inflate_raw(std::span<const std::byte> stream, std::size_t size, std::size_t limit);

} // namespace clr
