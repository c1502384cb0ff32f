// A bounded run of bytes of metadata or of a PE image, in target memory or in a file. Nothing is copied when
// the memory can lend its bytes, and of a file no more is read than is looked at. Otherwise each access is
// one read through the reader, which is expected to cache pages. ECMA-335 and PE are little-endian on every
// target.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/memory/partial_file.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

class ByteRange {
public:
  ByteRange() = default;
  // The bytes [begin, begin + size) behind `memory`, which must outlive the range. Asks
  // memory.view_in_parts() once; reads nothing.
  ByteRange(MemoryReader& memory, Address begin, std::uint64_t size);

  Address begin() const { return begin_; }
  std::uint64_t size() const { return size_; }

  // All accessors throw Error{corrupt} when the bytes lie outside the range, and Error{memory_missing} when
  // the memory lacks them. Cost: no read when the bytes are lent, else one.
  std::uint8_t u8(std::uint64_t at) const { return integer<std::uint8_t>(at); }
  std::uint16_t u16(std::uint64_t at) const { return integer<std::uint16_t>(at); }
  std::uint32_t u32(std::uint64_t at) const { return integer<std::uint32_t>(at); }
  std::uint64_t u64(std::uint64_t at) const { return integer<std::uint64_t>(at); }
  void read(std::uint64_t at, std::span<std::byte> out) const;

  // The part [at, at + size).
  ByteRange slice(std::uint64_t at, std::uint64_t size) const;
  // From `at` to the end.
  ByteRange from(std::uint64_t at) const;

  // The bytes up to a NUL before the end of the range. Throws Error{corrupt} when there is none within
  // `limit` bytes.
  std::string c_string(std::uint64_t at, std::size_t limit) const;
  std::vector<std::byte> bytes(std::uint64_t at, std::size_t size) const;

  // Whether the memory lends the range. Some of it may still not be there when it is looked at.
  bool is_lent() const { return lent_ != nullptr; }
  // The part [at, at + size) without a copy; empty when the memory does not lend it. The part must lie within
  // the range.
  std::span<const std::byte> lent(std::uint64_t at, std::uint64_t size) const {
    if (lent_ == nullptr || size == 0 || !provide(at, size)) return {};
    return {lent_ + at, static_cast<std::size_t>(size)};
  }
  // The whole range.
  std::span<const std::byte> lent() const { return lent(0, size_); }

private:
  void check(std::uint64_t at, std::uint64_t count) const {
    if (at > size_ || count > size_ - at) throw_outside(at, count);
  }
  [[noreturn]] void throw_outside(std::uint64_t at, std::uint64_t count) const;

  template<typename T>
  T integer(std::uint64_t at) const {
    check(at, sizeof(T));
    if (lent_ != nullptr && provide(at, sizeof(T)))
      return load<T>({lent_ + at, sizeof(T)}, ByteOrder::little);
    std::byte raw[sizeof(T)];
    memory_->read(begin_ + at, raw);
    return load<T>(raw, ByteOrder::little);
  }

  // Whether the lent bytes [at, at + size) are there. They may not be when their file was cut or changed.
  bool provide(std::uint64_t at, std::uint64_t size) const {
    return file_ == nullptr || file_->provide(offset_ + at, size);
  }

  MemoryReader* memory_ = nullptr;
  Address begin_ = 0;
  std::uint64_t size_ = 0;
  const std::byte* lent_ = nullptr; // null: nothing is lent
  PartialFile* file_ = nullptr;     // of the lent bytes; null when all of them are there
  std::uint64_t offset_ = 0;        // of the range in the file
};

// Bytes of the host (the content of a file, the data of a test) as memory that starts at `base`. Lends all of
// them.
class HostMemory final : public MemoryReader {
public:
  // The bytes must outlive the reader.
  explicit HostMemory(std::span<const std::byte> bytes, Address base = 0) : bytes_(bytes), base_(base) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override;
  std::span<const std::byte> view(Address address, std::size_t size) override;

private:
  std::span<const std::byte> bytes_;
  Address base_;
};

} // namespace clr
