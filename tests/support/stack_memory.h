// Sparse little-endian target memory for unwinder tests: bytes that were not written are missing. Any chosen
// read can be made to fail.
#pragma once

#include "core/isa/frame_layout.h"
#include "core/memory/memory_reader.h"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <limits>
#include <map>

namespace clr::test {

class StackMemory : public MemoryReader {
public:
  void bytes(Address at, std::initializer_list<unsigned> values) {
    for (const unsigned value : values) memory_[at++] = static_cast<std::byte>(value);
  }
  template<typename Container>
  void block(Address at, const Container& values) {
    for (const auto value : values) memory_[at++] = static_cast<std::byte>(value);
  }
  void u32(Address at, std::uint32_t value) { number(at, value, 4); }
  void u64(Address at, std::uint64_t value) { number(at, value, 8); }
  void words(Address at, std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) {
      u64(at, value);
      at += 8;
    }
  }
  void erase(Address at, std::size_t size) {
    for (std::size_t n = 0; n < size; ++n) memory_.erase(at + n);
  }

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (reads++ == fail_at) return 0;
    std::size_t n = 0;
    for (; n < out.size(); ++n) {
      const auto it = memory_.find(address + n);
      if (it == memory_.end()) break;
      out[n] = it->second;
    }
    return n;
  }

  std::size_t reads = 0;
  std::size_t fail_at = std::numeric_limits<std::size_t>::max();

private:
  void number(Address at, std::uint64_t value, unsigned size) {
    for (unsigned n = 0; n < size; ++n) memory_[at + n] = static_cast<std::byte>(value >> (8 * n));
  }
  std::map<Address, std::byte> memory_;
};

} // namespace clr::test

template<>
struct Catch::StringMaker<clr::RegisterOffset> {
  static std::string convert(const clr::RegisterOffset& value) {
    return "[register " + std::to_string(value.reg) + (value.offset < 0 ? " - " : " + ") +
           std::to_string(value.offset < 0 ? -value.offset : value.offset) + "]";
  }
};
