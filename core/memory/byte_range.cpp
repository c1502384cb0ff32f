#include "core/memory/byte_range.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::size_t string_chunk = 64; // most names fit into one read

} // namespace

ByteRange::ByteRange(MemoryReader& memory, Address begin, std::uint64_t size)
    : memory_(&memory), begin_(begin), size_(size) {
  if (size_ > std::numeric_limits<Address>::max() - begin_) throw_corrupt(begin, "range wraps around");
  if (size_ == 0 || size_ > std::numeric_limits<std::size_t>::max()) return;
  const LentBytes lent = memory.view_in_parts(begin, static_cast<std::size_t>(size));
  if (lent.bytes.size() < size_) return;
  lent_ = lent.bytes.data();
  file_ = lent.file;
  offset_ = lent.offset;
}

void ByteRange::throw_outside(std::uint64_t at, std::uint64_t count) const {
  throw_corrupt(begin_, fmt::format("{} bytes at offset {:#x} of a range of {:#x} bytes", count, at, size_));
}

void ByteRange::read(std::uint64_t at, std::span<std::byte> out) const {
  check(at, out.size());
  if (out.empty()) return;
  if (const auto there = lent(at, out.size()); !there.empty())
    std::memcpy(out.data(), there.data(), out.size());
  else
    memory_->read(begin_ + at, out);
}

ByteRange ByteRange::slice(std::uint64_t at, std::uint64_t size) const {
  check(at, size);
  ByteRange part;
  part.memory_ = memory_;
  part.begin_ = begin_ + at;
  part.size_ = size;
  if (lent_ != nullptr) {
    part.lent_ = lent_ + at;
    part.file_ = file_;
    part.offset_ = offset_ + at;
  }
  return part;
}

ByteRange ByteRange::from(std::uint64_t at) const {
  check(at, 0);
  return slice(at, size_ - at);
}

std::string ByteRange::c_string(std::uint64_t at, std::size_t limit) const {
  check(at, 0);
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(limit, size_ - at));
  if (lent_ != nullptr) {
    const char* const text = reinterpret_cast<const char*>(lent_ + at);
    for (std::size_t done = 0; done < most;) {
      const std::size_t step = std::min(most - done, string_chunk);
      if (!provide(at + done, step)) throw_missing(begin_ + at + done);
      if (const void* const end = std::memchr(text + done, 0, step); end != nullptr)
        return {text, static_cast<const char*>(end)};
      done += step;
    }
    throw_corrupt(begin_ + at, "string without an end");
  }
  std::string text;
  std::array<std::byte, string_chunk> chunk;
  while (text.size() < most) {
    const std::size_t want = std::min(chunk.size(), most - text.size());
    const Address from = begin_ + at + text.size();
    const std::size_t got = memory_->read_some(from, std::span(chunk).first(want));
    const char* read = reinterpret_cast<const char*>(chunk.data());
    const void* const end = std::memchr(read, 0, got);
    text.append(read, end != nullptr ? static_cast<const char*>(end) : read + got);
    if (end != nullptr) return text;
    if (got < want) throw_missing(from + got);
  }
  throw_corrupt(begin_ + at, "string without an end");
}

std::vector<std::byte> ByteRange::bytes(std::uint64_t at, std::size_t size) const {
  check(at, size);
  // Bytes are zeroed and read piece by piece: where memory is missing at their beginning, a size that lies
  // costs no time and no room.
  constexpr std::size_t piece = 1u << 20;
  std::vector<std::byte> result;
  result.reserve(size);
  while (result.size() < size) {
    const std::size_t begin = result.size();
    result.resize(begin + std::min(piece, size - begin));
    read(at + begin, std::span(result).subspan(begin));
  }
  return result;
}

std::size_t HostMemory::read_some(Address address, std::span<std::byte> out) {
  if (address < base_ || address - base_ >= bytes_.size()) return 0;
  const std::size_t at = static_cast<std::size_t>(address - base_);
  const std::size_t count = std::min(out.size(), bytes_.size() - at);
  if (count != 0) std::memcpy(out.data(), bytes_.data() + at, count);
  return count;
}

std::span<const std::byte> HostMemory::view(Address address, std::size_t size) {
  if (address < base_ || address - base_ > bytes_.size() || size > bytes_.size() - (address - base_))
    return {};
  return bytes_.subspan(static_cast<std::size_t>(address - base_), size);
}

} // namespace clr
