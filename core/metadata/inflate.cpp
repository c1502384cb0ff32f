#include "core/metadata/inflate.h"

#include "core/memory/error.h"

#include <fmt/format.h>
#include <limits>
#include <string>
#include <zlib.h>

namespace clr {
namespace {

// A Deflate code of two bits expands to at most 258 bytes.
constexpr std::size_t max_ratio = 1032;
constexpr int raw_stream = -MAX_WBITS;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::corrupt, what);
}

} // namespace

std::vector<std::byte> inflate_raw(std::span<const std::byte> stream, std::size_t size, std::size_t limit) {
  if (size > limit || size > std::numeric_limits<uInt>::max())
    fail(fmt::format("a compressed part of {} bytes is larger than {} bytes", size, limit));
  if (stream.size() > std::numeric_limits<uInt>::max() || size / max_ratio > stream.size())
    fail(fmt::format("{} bytes cannot expand to {} bytes", stream.size(), size));
  std::vector<std::byte> out(size + 1); // one more byte, to detect a stream that makes more

  z_stream inflater{};
  inflater.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stream.data()));
  inflater.avail_in = static_cast<uInt>(stream.size());
  inflater.next_out = reinterpret_cast<Bytef*>(out.data());
  inflater.avail_out = static_cast<uInt>(out.size());
  if (::inflateInit2(&inflater, raw_stream) != Z_OK) fail("zlib cannot start");
  const int result = ::inflate(&inflater, Z_FINISH);
  const std::size_t made = out.size() - inflater.avail_out;
  ::inflateEnd(&inflater);
  if (made > size) fail(fmt::format("a compressed part expands to more than its {} bytes", size));
  if (result == Z_BUF_ERROR) fail("a compressed part is cut short");
  if (result != Z_STREAM_END) fail("a compressed part is damaged");
  if (made < size) fail(fmt::format("a compressed part expands to {} bytes instead of {}", made, size));
  out.resize(size);
  return out;
}

} // namespace clr
