#include "core/symbols/symbol_file.h"

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/memory/target_bytes.h"

#include <cstring>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned max_shift = 63;

class Check {
public:
  Check(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  [[noreturn]] void fail(std::string_view why, ErrorKind kind = ErrorKind::corrupt) const {
    throw Error(kind, fmt::format("{}: {}", name_, why));
  }

  template<typename T>
  T field(std::size_t at) const {
    return load<T>(file_.subspan(at), ByteOrder::little);
  }

  // Checks that `count` rows of `row_size` bytes at `start` lie behind the header and inside the file.
  void part(std::string_view what, std::uint64_t start, std::uint64_t count, std::uint64_t row_size) const {
    const std::uint64_t size = file_.size();
    if (start < symbol_file_header_size || start > size || count > (size - start) / row_size)
      fail(fmt::format("its {} ({} of {} bytes at {:#x}) lie outside its {} bytes", what, count, row_size,
                       start, size));
  }

private:
  std::span<const std::byte> file_;
  const std::string& name_;
};

} // namespace

SymbolFileHeader read_symbol_file_header(std::span<const std::byte> file, const std::string& name) {
  const Check check(file, name);
  if (file.size() < symbol_file_magic.size() ||
      std::memcmp(file.data(), symbol_file_magic.data(), symbol_file_magic.size()) != 0)
    check.fail("it is no .sym file");
  if (file.size() < symbol_file_header_size) check.fail("it ends in its header");
  const auto version = check.field<std::uint32_t>(8);
  if (version != symbol_file_version)
    check.fail(fmt::format("version {} of the .sym format is not known", version),
               ErrorKind::unsupported_contract);
  SymbolFileHeader header;
  header.address_size = check.field<std::uint8_t>(12);
  const auto space = check.field<std::uint8_t>(13);
  header.space = static_cast<SymbolSpace>(space);
  header.base = check.field<std::uint64_t>(16);
  header.entries_start = check.field<std::uint64_t>(24);
  header.entry_count = check.field<std::uint64_t>(32);
  header.directory_start = check.field<std::uint64_t>(40);
  header.directory_count = check.field<std::uint64_t>(48);
  header.strings_start = check.field<std::uint64_t>(56);
  header.strings_size = check.field<std::uint64_t>(64);
  header.shift = check.field<std::uint32_t>(72);
  header.made_from = check.field<std::uint32_t>(76);
  header.identity = check.field<std::uint32_t>(80);
  header.file_size = check.field<std::uint64_t>(88);

  if (header.file_size != file.size())
    check.fail(fmt::format("it has {} bytes and was written with {}", file.size(), header.file_size));
  if (header.address_size != 4 && header.address_size != 8)
    check.fail(fmt::format("an address of {} bytes", header.address_size));
  if (space > static_cast<std::uint8_t>(SymbolSpace::image))
    check.fail(fmt::format("addresses of kind {}", space));
  if (header.entry_count > max_symbol_entries) check.fail(fmt::format("{} entries", header.entry_count));
  check.part("entries", header.entries_start, header.entry_count, header.entry_size());
  check.part("directory rows", header.directory_start, header.directory_count, sizeof(std::uint32_t));
  check.part("strings", header.strings_start, header.strings_size, 1);
  if (header.directory_count == 0 || header.shift > max_shift) check.fail("its directory makes no sense");
  if (header.strings_size == 0 || header.strings_size > max_symbol_strings)
    check.fail(fmt::format("strings of {} bytes", header.strings_size));
  // With a NUL at both ends, a view of any string ends inside the file.
  if (file[header.strings_start] != std::byte{0} ||
      file[header.strings_start + header.strings_size - 1] != std::byte{0})
    check.fail("its strings do not begin and end with a NUL");
  if (header.made_from >= header.strings_size || header.identity >= header.strings_size)
    check.fail("what it was made from lies outside its strings");
  return header;
}

std::vector<std::byte> write_symbol_file_header(const SymbolFileHeader& header) {
  TargetBytes out({.pointer_size = 8, .byte_order = ByteOrder::little});
  out.text(symbol_file_magic, symbol_file_magic.size());
  out.u32(symbol_file_version);
  out.u8(header.address_size);
  out.u8(static_cast<std::uint8_t>(header.space));
  out.u16(0);
  for (const std::uint64_t value :
       {header.base, header.entries_start, header.entry_count, header.directory_start, header.directory_count,
        header.strings_start, header.strings_size})
    out.word(value);
  for (const std::uint32_t value : {header.shift, header.made_from, header.identity, 0u}) out.u32(value);
  out.word(header.file_size);
  out.pad_to(symbol_file_header_size);
  return out.bytes();
}

} // namespace clr
