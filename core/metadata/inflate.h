// Deflate streams as assemblies and PDBs embed them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace clr {

// The `size` bytes that a raw Deflate stream (RFC 1951, no header of zlib) expands to. Throws Error{corrupt}
// when the stream is damaged, makes more or fewer bytes, or `size` exceeds `limit` or what a stream of that
// length can make at all.
std::vector<std::byte> inflate_raw(std::span<const std::byte> stream, std::size_t size, std::size_t limit);

} // namespace clr
