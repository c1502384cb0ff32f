// One entry of .eh_frame: the description of a function's frames, with the common entry that it refers to.
// libdw is handed the entries one by one, each as an image of its own: what it reads then is what was looked
// through, and nothing of it stays.
// Source: Linux Standard Base, .eh_frame; DWARF 5 section 6.4.1.
#pragma once

#include "core/memory/process_image.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clr {

// A section .eh_frame, as far as it is there.
struct EhFrame {
  std::span<const std::byte> bytes;
  Address address = 0; // in the target
};

struct CfiEntry {
  Address begin = 0, end = 0;         // of the code that it describes
  std::span<const std::byte> factors; // of code and of data, as they stand there
  std::uint64_t return_address = 0;   // its register
  bool signal = false;                // its code was interrupted, it did not call
  bool plain_addresses = false;       // addresses in its programs are 8 bytes as they are
  std::span<const std::byte> initial, program;
};

// Bytes of the name of an entry's form; real ones have 6.
constexpr std::size_t max_cfi_form = 16;

// The description at `offset`. No cost but its fixed parts. Throws Error{corrupt} for what is none, and for
// forms that no compiler of the CPUs here writes.
CfiEntry cfi_entry_at(const EhFrame& section, std::uint64_t offset);

struct ListedCfi {
  Address begin = 0, end = 0;
  std::uint64_t offset = 0; // in the section
};
struct CfiList {
  std::vector<ListedCfi> functions; // ascending by `begin`
  bool whole = true;                // false: there are more than max_listed_cfi
};
// Entries of a section without a search table that are looked at: those of 200 MB of code.
constexpr std::size_t max_listed_cfi = 1'000'000;
// The descriptions up to the end of the section or the first whose size makes no sense, of the first
// max_listed_cfi; without those that cfi_entry_at() refuses. Never throws.
CfiList list_cfi(const EhFrame& section);

// Header and program header of an ELF image of `cpu` whose .eh_frame_hdr has `size` bytes at `offset` of the
// image, and lies at `address`. libdw finds it there.
std::vector<char> cfi_image_header(Cpu cpu, std::uint64_t offset, Address address, std::uint64_t size);
// An image that holds nothing but `entry`.
std::vector<char> cfi_image_of(const CfiEntry& entry, Cpu cpu);

} // namespace clr
