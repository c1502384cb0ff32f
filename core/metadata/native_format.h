// The variable-length integers, the array and the hash table of ReadyToRun images. They read one section of
// an image and have no other inputs. Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md,
// src/coreclr/vm/nativeformatreader.h. Little-endian on every target.
#pragma once

#include "core/memory/byte_range.h"

#include <functional>
#include <optional>

namespace clr {

// A decoded integer and the offset behind it.
struct NativeUnsigned {
  std::uint32_t value = 0;
  std::uint64_t next = 0;
};
struct NativeSigned {
  std::int32_t value = 0;
  std::uint64_t next = 0;
};

// Decodes 1 to 5 bytes at `at`. Throws Error{corrupt} outside the range or for a first byte that starts no
// integer.
NativeUnsigned decode_native_unsigned(const ByteRange& bytes, std::uint64_t at);
NativeSigned decode_native_signed(const ByteRange& bytes, std::uint64_t at);

// A sparse array: one tree per block of 16 elements.
class NativeArray {
public:
  // `section` starts at the array's header; nothing outside of it is read. Throws Error.
  explicit NativeArray(ByteRange section);

  std::uint32_t count() const { return count_; }
  // Offset of element `index` within the section; nothing when the array has no such element. Cost: at most 6
  // reads.
  std::optional<std::uint64_t> find(std::uint32_t index) const;

private:
  ByteRange section_;
  std::uint64_t base_ = 0;
  std::uint32_t count_ = 0;
  unsigned index_width_ = 1; // bytes
};

// A hash table, which can be enumerated.
class NativeHashtable {
public:
  explicit NativeHashtable(ByteRange section);

  std::uint32_t bucket_count() const { return mask_ + 1; }
  // Calls `visit` with the offset of every entry of bucket `bucket`. Throws Error{corrupt} for a bucket that
  // runs backwards; exceptions of `visit` pass through.
  void for_each_in_bucket(std::uint32_t bucket, const std::function<void(std::uint64_t)>& visit) const;

private:
  std::uint64_t bucket_start(std::uint32_t index) const;

  ByteRange section_;
  std::uint64_t base_ = 1;
  std::uint32_t mask_ = 0;
  unsigned index_width_ = 1; // bytes
};

} // namespace clr
