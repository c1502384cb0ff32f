// Cores that a system keeps compressed (core.zst of systemd-coredump, core.gz, core.lz4): which they are, and
// the core that is in them. zlib is linked; the libraries for zstd and lz4 are those of the host, where LLDB
// or the system brought them, and are loaded when a file asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace clr {

enum class Packing : std::uint8_t { none, gzip, zstd, lz4, xz, bzip2 };

// "gzip", "zstd", ...; "none" is no word for a user.
std::string_view to_string(Packing packing);

// By the first bytes of the file; two are enough where it ends behind them. Throws Error{io} when it cannot
// be opened or read, or is no regular file.
Packing packing_of(const std::string& path);

// Throws Error{invalid_argument} for a file that cannot be lines of text: it is compressed, or holds a zero
// byte in its first 4 KB. Throws Error{io} as packing_of does.
void require_text(const std::string& path);

struct UnpackOptions {
  // Asked for every megabyte or so that is read: bytes of the compressed file that are done, and all of them.
  // True gives up.
  std::function<bool(std::uint64_t done, std::uint64_t all)> stop = {};
  // Bytes that must stay free on the file system of the new file.
  std::uint64_t spare = std::uint64_t{1} << 30;
};

struct UnpackedCore {
  std::uint64_t size = 0; // bytes of the new file
  // Why the new file lacks the end of the core: the compressed data is cut or damaged there. Empty: it is
  // whole.
  std::string cut;
};

// Writes what is in `from` to `to` (core/memory/output_file.h), readable by its owner alone. Frames or
// members behind each other are one core. Where the data is cut or damaged, what came before is kept: a part
// of a core still answers. Throws Error{io} for a file that cannot be read or written and when too little
// room would be left, Error{corrupt} when nothing at all can be unpacked, Error{unsupported_contract} for xz
// and bzip2 and when the host has no library for the format (with the command that unpacks it),
// Error{interrupted}.
UnpackedCore unpack_core(const std::string& from, const std::string& to, const UnpackOptions& options = {});

} // namespace clr
