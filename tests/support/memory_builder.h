// A synthetic target memory that is written like assembly: cursors write integers in the target's byte order,
// and labels may be used before they are placed. Bytes that were not written are missing. The memory can be
// read while it is being written: there is no build step.
#pragma once

#include "core/memory/memory_reader.h"

#include <array>
#include <bitset>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace clr::test {

// {little, big} x {64, 32}. Names for Catch's sections come from to_string(Platform).
std::vector<Platform> all_platforms(Cpu cpu = Cpu::unknown, Os os = Os::unix_like);
std::string to_string(const Platform& platform);

class MemoryBuilder;

// Writes at an address and moves on. A value: copies write to the same memory.
class MemoryCursor {
public:
  MemoryCursor(MemoryBuilder& memory, Address at) : memory_(&memory), at_(at) {}

  MemoryCursor& u8(std::uint64_t value) { return integer(value, 1); }
  MemoryCursor& u16(std::uint64_t value) { return integer(value, 2); }
  MemoryCursor& u32(std::uint64_t value) { return integer(value, 4); }
  MemoryCursor& u64(std::uint64_t value) { return integer(value, 8); }
  MemoryCursor& pointer(Address value); // of the target's width
  MemoryCursor& pointer(std::string_view label, std::int64_t addend = 0);
  // The low 32 bits of `label` - `base`: a relative address.
  MemoryCursor& relative(std::string_view label, Address base);
  MemoryCursor& bytes(std::initializer_list<unsigned> values);
  MemoryCursor& bytes(std::span<const std::byte> values);
  MemoryCursor& text(std::string_view text); // without a terminator
  MemoryCursor& utf8(std::string_view text); // with one
  MemoryCursor& utf16(std::u16string_view text);
  MemoryCursor& fill(std::size_t count, unsigned value = 0);
  MemoryCursor& align(std::size_t unit); // with zeros
  MemoryCursor& skip(std::size_t count); // leaves the bytes as they are
  MemoryCursor& label(std::string name); // the name of this place
  Address address() const { return at_; }

private:
  MemoryCursor& integer(std::uint64_t value, unsigned width);
  MemoryBuilder* memory_;
  Address at_;
};

class MemoryBuilder final : public MemoryReader {
public:
  explicit MemoryBuilder(Platform platform = {}) : platform_(platform) {}

  const Platform& platform() const { return platform_; }

  MemoryCursor at(Address address) { return {*this, address}; }
  // A cursor at `size` fresh zero bytes; what lies before and behind them is missing.
  MemoryCursor fresh(std::size_t size, std::size_t alignment = 16) { return at(allocate(size, alignment)); }
  // The address of `size` fresh zero bytes, above 0x100000.
  Address allocate(std::size_t size, std::size_t alignment = 16);
  // Fresh bytes with this content.
  Address place(std::span<const std::byte> bytes, std::size_t alignment = 16);
  Address place_utf8(std::string_view text);
  Address place_utf16(std::u16string_view text);

  void write(Address address, std::span<const std::byte> bytes);
  void write_integer(Address address, std::uint64_t value, unsigned width);
  void erase(Address address, std::size_t size);

  void define(std::string label, Address address);
  Address operator[](std::string_view label) const; // throws std::logic_error when it was never defined

  // Throws std::logic_error while a label is used that does not stand: a mistake of the test.
  std::size_t read_some(Address address, std::span<std::byte> out) override;

private:
  friend class MemoryCursor;
  static constexpr std::size_t page_size = 4096;
  struct Page {
    std::array<std::byte, page_size> bytes;
    std::bitset<page_size> present;
  };
  struct Use {
    Address at;
    unsigned width;
    std::uint64_t addend;
  };
  void use(std::string_view label, Use use);

  Platform platform_;
  Address next_ = 0x10'0000;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::map<std::string, Address, std::less<>> labels_;
  std::multimap<std::string, Use, std::less<>> pending_;
};

} // namespace clr::test
