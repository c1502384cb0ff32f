// Builds small ELF cores of any class and byte order in memory, both correct and contradictory ones. It
// follows the ELF and Linux documents and does not use the product's own writer, so that the two check each
// other.
#pragma once

#include "core/memory/core_notes.h"

#include <string>
#include <string_view>
#include <vector>

namespace clr::test {

// Appends integers in the target's byte order.
class TargetBytes {
public:
  explicit TargetBytes(Platform platform) : platform_(platform) {}

  TargetBytes& u8(std::uint64_t value) { return integer(value, 1); }
  TargetBytes& u16(std::uint64_t value) { return integer(value, 2); }
  TargetBytes& u32(std::uint64_t value) { return integer(value, 4); }
  TargetBytes& u64(std::uint64_t value) { return integer(value, 8); }
  TargetBytes& word(std::uint64_t value) { return integer(value, platform_.pointer_size); }
  TargetBytes& text(std::string_view text, std::size_t padded_to = 0);
  TargetBytes& append(std::span<const std::byte> bytes);
  TargetBytes& pad_to(std::size_t size);
  TargetBytes& align(std::size_t unit);
  // Overwrites an integer that was written before.
  void patch(std::size_t at, std::uint64_t value, std::size_t size);

  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  TargetBytes& integer(std::uint64_t value, std::size_t size);
  Platform platform_;
  std::vector<std::byte> bytes_;
};

// `size` bytes that tell where they are: byte i is (seed + i) mod 251.
std::vector<std::byte> pattern(std::size_t size, unsigned seed = 0);

class ElfCoreBuilder {
public:
  explicit ElfCoreBuilder(Platform platform) : platform_(platform) {}

  // A PT_LOAD; memory_size 0: as long as its bytes. `claimed_size` 0: file size as it is, else the lie.
  ElfCoreBuilder& segment(Address begin, std::vector<std::byte> bytes, std::uint64_t memory_size = 0,
                          unsigned flags = 6, std::uint64_t claimed_size = 0);
  ElfCoreBuilder& note(std::string_view owner, std::uint32_t type, std::vector<std::byte> description);
  // NT_PRSTATUS; registers in the order of ThreadRegisters, for x64 and arm64.
  ElfCoreBuilder& thread(std::uint32_t id, unsigned signal, const std::vector<std::uint64_t>& registers);
  ElfCoreBuilder& process(std::uint32_t id, std::string_view name, std::string_view arguments);
  ElfCoreBuilder& auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs);
  ElfCoreBuilder& files(const std::vector<FileMapping>& mappings, std::uint64_t page = 4096);
  ElfCoreBuilder& signal(int number, int code, Address address);
  // Notes behind the memory, as gdb writes them; the kernel writes them before it.
  ElfCoreBuilder& notes_last();
  // e_phnum is PN_XNUM and the number is in section header 0, as the kernel does from 65535 on.
  ElfCoreBuilder& extended_count();

  std::vector<std::byte> build() const;

private:
  struct Segment {
    Address begin;
    std::vector<std::byte> bytes;
    std::uint64_t memory_size;
    unsigned flags;
    std::uint64_t claimed_size;
  };
  Platform platform_;
  std::vector<Segment> segments_;
  std::vector<std::byte> notes_;
  bool notes_last_ = false, extended_count_ = false;
};

} // namespace clr::test
