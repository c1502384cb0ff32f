#include "core/dwarf/movable_places.h"

#include "core/dwarf/string_section.h"

#include <fmt/format.h>

#include <vector>

namespace clr {

namespace {
// Half of the address space away no target has anything. A file of 32 bits cannot say more than the latter,
// which wraps to behind the target's memory.
constexpr Address wide_distance = Address{1} << 63;
constexpr Address narrow_distance = 0xF000'0000;
} // namespace

MovablePlaces::MovablePlaces(const Platform& platform, std::uint64_t identity)
    : platform_(platform), prefix_(fmt::format("lldb-clr place {}.", identity)),
      distance_(platform.pointer_size == 8 ? wide_distance : narrow_distance) {}

void MovablePlaces::write(const std::function<void(FileParts)>& use) const {
  ElfContainer file(platform_);
  file.add({.name = ".base",
            .type = SHT_NOBITS,
            .flags = SHF_ALLOC,
            .address = base_address,
            .size = 1,
            .bytes = {},
            .segment = true});
  // Debuggers join sections of one name.
  std::vector<std::string> sections, functions;
  for (std::size_t i = 0; i < count; ++i) {
    sections.push_back(fmt::format(".place{}", i));
    functions.push_back(prefix_ + std::to_string(i));
  }
  std::vector<Elf64_Sym> symbols(1);
  StringSection names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t section = file.add({.name = sections[i],
                                            .type = SHT_NOBITS,
                                            .flags = SHF_ALLOC | SHF_EXECINSTR,
                                            .address = section_address(i),
                                            .size = 1,
                                            .bytes = {}});
    symbols.push_back({.st_name = names.append(functions[i]),
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_other = STV_DEFAULT,
                       .st_shndx = static_cast<Elf64_Section>(section),
                       .st_value = file_address(i),
                       .st_size = 1});
  }
  const std::vector<std::byte> symbol_bytes = file.encode(symbols);
  const std::uint32_t strings =
      file.add({.name = ".strtab", .type = SHT_STRTAB, .size = names.bytes().size(), .bytes = names.bytes()});
  file.add({.name = ".symtab",
            .type = SHT_SYMTAB,
            .size = symbol_bytes.size(),
            .bytes = symbol_bytes,
            .link = strings,
            .info = 1, // the first global symbol
            .entry_size = file.symbol_size(),
            .alignment = platform_.pointer_size});
  file.write(use);
}

} // namespace clr
