// The form of a .sym file, version 1. Little-endian on every host.
//
//   header | entries | directory | strings
//
// Header, 128 bytes:
//     0  8 bytes  "CLR.SYM\n"
//     8  u32      version of the format, 1
//    12  u8       bytes of an address in an entry, 4 or 8
//    13  u8       0: addresses of a process; 1: relative to an image
//    14  u16      0
//    16  u64      base: entries' addresses count from here
//    24  u64 u64  start and number of the entries
//    40  u64 u64  start and number of the directory's rows
//    56  u64 u64  start and size in bytes of the strings
//    72  u32      shift of the directory
//    76  u32      made from: offset in the strings
//    80  u32      identity: offset in the strings
//    84  u32      0
//    88  u64      size of the file
//    96           zeros
// Entry, 28 or 32 bytes, sorted by address, no two of them overlap:
//     address (u32 or u64, less the base), u32 size, u32 distance from the function's start, u32 function,
//     u32 file (both offsets in the strings), u32 line, u16 length of function, u16 length of file
// Directory: u32 each; row b is the number of entries with (address less base) >> shift less than b. Its last
// row
//     is the number of all entries.
// Strings: UTF-8, each ends with a NUL; offset 0 is the empty one, which stands for "unknown".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class SymbolSpace : std::uint8_t {
  process, // addresses of one process
  image,   // relative to the start of an image (RVA), or the linked addresses of an ELF file
};

constexpr std::string_view symbol_file_magic = "CLR.SYM\n";
constexpr std::uint32_t symbol_file_version = 1;
constexpr std::size_t symbol_file_header_size = 128;

constexpr std::uint64_t max_symbol_entries = 1u << 27;
constexpr std::uint64_t max_symbol_strings = 0xffff'ffffu; // bytes
constexpr std::size_t max_symbol_name = 0xffff;            // bytes; longer names are cut

struct SymbolFileHeader {
  std::uint8_t address_size = 4;
  SymbolSpace space = SymbolSpace::process;
  std::uint64_t base = 0;
  std::uint64_t entries_start = 0, entry_count = 0;
  std::uint64_t directory_start = 0, directory_count = 0;
  std::uint64_t strings_start = 0, strings_size = 0;
  std::uint32_t shift = 0, made_from = 0, identity = 0;
  std::uint64_t file_size = 0;

  std::size_t entry_size() const { return address_size == 4 ? 28 : 32; }
};

// Reads and checks the header of a whole file: all parts must lie in the file, and the strings must end.
// `name` is for messages. Throws Error{corrupt} with the reason; Error{unsupported_contract} for another
// version.
SymbolFileHeader read_symbol_file_header(std::span<const std::byte> file, const std::string& name);
std::vector<std::byte> write_symbol_file_header(const SymbolFileHeader& header);

} // namespace clr
