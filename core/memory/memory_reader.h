// The one door to target memory. Every source (core file, live process, files on disk) and every wrapper
// (cache, counter, recorder) is a MemoryReader.
#pragma once

#include "core/memory/error.h"
#include "core/memory/lent_bytes.h"
#include "core/memory/platform.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace clr {

class MemoryReader {
public:
  MemoryReader() = default;
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  virtual ~MemoryReader() = default;

  // Fills the leading part of `out` with the bytes at `address` and returns how many bytes were there,
  // 0 to out.size(). A smaller number means that the byte at address + result is missing. Never throws for
  // missing memory, never pads: missing is not zero.
  virtual std::size_t read_some(Address address, std::span<std::byte> out) = 0;

  // The same for a search through much memory of which little will be used. Caches do not keep these bytes
  // and recordings do not count them as used, so a caller reads again what it found.
  virtual std::size_t scan_some(Address address, std::span<std::byte> out) { return read_some(address, out); }

  // As scan_some, but any number of threads may call it at the same time, also while another thread uses the
  // other functions. Nothing: this source, or these bytes of it, are for one thread at a time.
  virtual std::optional<std::size_t> scan_together(Address, std::span<std::byte>) { return std::nullopt; }

  // As read_some, for a few bytes of data that lie between instructions. A source that hides a debugger's
  // breakpoints need not look for breakpoints in them.
  virtual std::size_t read_data_some(Address address, std::span<std::byte> out) {
    return read_some(address, out);
  }

  // The bytes [address, address + size) without a copy, or an empty span when the source cannot lend them in
  // one piece; read_some may succeed all the same. Valid as long as the reader.
  virtual std::span<const std::byte> view(Address address, std::size_t size);

  // The same for bytes of which few will be looked at: those that come from a file are read where they are
  // asked for. Some of these may be gone by then, so that it lends what view() does not.
  virtual LentBytes view_in_parts(Address address, std::size_t size) {
    return {.bytes = view(address, size)};
  }

  // Fills `out` with exactly the bytes at `address`, or throws Error{memory_missing} that names the first
  // missing address. One read.
  void read(Address address, std::span<std::byte> out) {
    if (const std::size_t got = read_some(address, out); got < out.size()) throw_missing(address + got);
  }
};

// The integer of type T stored in target byte order at the front of `bytes` (which holds at least sizeof(T)).
template<typename T>
T load(std::span<const std::byte> bytes, ByteOrder order) {
  static_assert(std::is_integral_v<T>);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  const bool host_is_little = std::endian::native == std::endian::little;
  if constexpr (sizeof(T) > 1)
    if ((order == ByteOrder::little) != host_is_little) value = std::byteswap(value);
  return value;
}

} // namespace clr
