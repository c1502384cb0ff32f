#include "core/metadata/deflate.h"

#include "core/memory/error.h"

#include <fmt/format.h>
#include <limits>
#include <zlib.h>

namespace clr {

std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max())
    throw Error(ErrorKind::invalid_argument, fmt::format("{} bytes are too many to compress", bytes.size()));
  constexpr int raw_stream = -MAX_WBITS, most_memory = 9;
  z_stream deflater{};
  if (::deflateInit2(&deflater, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_stream, most_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<std::byte> out(::deflateBound(&deflater, static_cast<uLong>(bytes.size())));
  deflater.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  deflater.avail_in = static_cast<uInt>(bytes.size());
  deflater.next_out = reinterpret_cast<Bytef*>(out.data());
  deflater.avail_out = static_cast<uInt>(out.size());
  ::deflate(&deflater, Z_FINISH); // deflateBound is enough for all of it
  out.resize(deflater.total_out);
  ::deflateEnd(&deflater);
  return out;
}

} // namespace clr
