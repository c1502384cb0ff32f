// Compressed streams, unpacked piece by piece: gzip by zlib, zstd and lz4 by the libraries of the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace clr {

class StreamDecoder {
public:
  virtual ~StreamDecoder() = default;

  struct Step {
    std::size_t used = 0, made = 0; // bytes of `in` and of `out`
    bool between_frames = false;    // all that was begun has ended; another frame may follow
  };
  // Takes some of `in` and fills some of `out`, which is not empty. An empty `in` asks for what the decoder
  // still holds. Throws Error{corrupt} with the library's word for what is wrong.
  virtual Step decode(std::span<const std::byte> in, std::span<std::byte> out) = 0;
};

std::unique_ptr<StreamDecoder> gzip_decoder();
// Both throw Error{unsupported_contract} when the host has no such library. A zstd stream that wants a window
// of over 128 MB is refused, as by the library's own tool.
std::unique_ptr<StreamDecoder> zstd_decoder();
std::unique_ptr<StreamDecoder> lz4_decoder();

} // namespace clr
