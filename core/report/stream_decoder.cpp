#include "core/report/stream_decoder.h"

#include "core/memory/error.h"

#include <algorithm>
#include <dlfcn.h>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <zlib.h>

namespace clr {
namespace {

[[noreturn]] void fail_damaged(std::string_view format, const char* why) {
  throw Error(ErrorKind::corrupt,
              fmt::format("the {} data is damaged: {}", format, why == nullptr ? "no reason is given" : why));
}

class Gzip final : public StreamDecoder {
public:
  Gzip() {
    constexpr int with_gzip_header = MAX_WBITS + 16;
    if (::inflateInit2(&stream_, with_gzip_header) != Z_OK)
      throw Error(ErrorKind::unsupported_contract, "zlib cannot start");
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { ::inflateEnd(&stream_); }

  Step decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    const auto counted = [](std::size_t size) {
      return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    };
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = counted(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = counted(out.size());
    const Step most{.used = stream_.avail_in, .made = stream_.avail_out};
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    const bool ended = result == Z_STREAM_END;
    if (!ended && result != Z_OK && result != Z_BUF_ERROR) fail_damaged("gzip", stream_.msg);
    const Step step{
        .used = most.used - stream_.avail_in, .made = most.made - stream_.avail_out, .between_frames = ended};
    if (ended) ::inflateReset(&stream_); // another member may follow
    return step;
  }

private:
  z_stream stream_{};
};

// A library of the host. It stays loaded: LLDB may use it, too.
class Library {
public:
  Library(const char* file, const char* tool) : library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("this host has no {}; unpack the core by {} first", file, tool));
  }
  template<typename Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("the host's library has no function {}", name));
  }

private:
  void* library_;
};

// The stable part of zstd's interface (zstd.h).
class Zstd final : public StreamDecoder {
public:
  Zstd() : library_("libzstd.so.1", "unzstd") {
    library_.find("ZSTD_createDStream", create_);
    library_.find("ZSTD_freeDStream", free_);
    library_.find("ZSTD_decompressStream", decompress_);
    library_.find("ZSTD_isError", is_error_);
    library_.find("ZSTD_getErrorName", error_name_);
    stream_ = create_();
    if (stream_ == nullptr) throw Error(ErrorKind::unsupported_contract, "libzstd cannot start");
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { free_(stream_); }

  Step decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    InBuffer from{in.data(), in.size(), 0};
    OutBuffer to{out.data(), out.size(), 0};
    const std::size_t hint = decompress_(stream_, &to, &from);
    if (is_error_(hint) != 0) fail_damaged("zstd", error_name_(hint));
    return {.used = from.position, .made = to.position, .between_frames = hint == 0};
  }

private:
  struct InBuffer {
    const void* bytes;
    std::size_t size, position;
  };
  struct OutBuffer {
    void* bytes;
    std::size_t size, position;
  };

  Library library_;
  void* (*create_)() = nullptr;
  std::size_t (*free_)(void*) = nullptr;
  std::size_t (*decompress_)(void*, OutBuffer*, InBuffer*) = nullptr;
  unsigned (*is_error_)(std::size_t) = nullptr;
  const char* (*error_name_)(std::size_t) = nullptr;
  void* stream_ = nullptr;
};

// The frame interface of lz4 (lz4frame.h).
class Lz4 final : public StreamDecoder {
public:
  Lz4() : library_("liblz4.so.1", "unlz4") {
    constexpr unsigned interface_version = 100;
    library_.find("LZ4F_createDecompressionContext", create_);
    library_.find("LZ4F_freeDecompressionContext", free_);
    library_.find("LZ4F_decompress", decompress_);
    library_.find("LZ4F_isError", is_error_);
    library_.find("LZ4F_getErrorName", error_name_);
    if (is_error_(create_(&context_, interface_version)) != 0)
      throw Error(ErrorKind::unsupported_contract, "liblz4 cannot start");
  }
  Lz4(const Lz4&) = delete;
  Lz4& operator=(const Lz4&) = delete;
  ~Lz4() override { free_(context_); }

  Step decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    std::size_t used = in.size(), made = out.size();
    const std::size_t hint = decompress_(context_, out.data(), &made, in.data(), &used, nullptr);
    if (is_error_(hint) != 0) fail_damaged("lz4", error_name_(hint));
    return {.used = used, .made = made, .between_frames = hint == 0};
  }

private:
  Library library_;
  std::size_t (*create_)(void**, unsigned) = nullptr;
  std::size_t (*free_)(void*) = nullptr;
  std::size_t (*decompress_)(void*, void*, std::size_t*, const void*, std::size_t*, const void*) = nullptr;
  unsigned (*is_error_)(std::size_t) = nullptr;
  const char* (*error_name_)(std::size_t) = nullptr;
  void* context_ = nullptr;
};

} // namespace

std::unique_ptr<StreamDecoder> gzip_decoder() {
  return std::make_unique<Gzip>();
}

std::unique_ptr<StreamDecoder> zstd_decoder() {
  return std::make_unique<Zstd>();
}

std::unique_ptr<StreamDecoder> lz4_decoder() {
  return std::make_unique<Lz4>();
}

} // namespace clr
