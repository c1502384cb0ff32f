#include "core/dwarf/elf_module_writer.h"

#include "core/dwarf/elf_container.h"
#include "core/dwarf/elf_symbols_writer.h"
#include "core/dwarf/frames.h"
#include "core/dwarf/units.h"
#include "core/isa/architecture.h"
#include "core/memory/error.h"

#include <elf.h>
#include <string>
#include <string_view>

namespace clr {
namespace {

constexpr std::uint32_t first_code_section = 1;

void check_platform(const Platform& platform) {
  if (!architecture_of(platform.cpu).walks_stacks())
    throw Error(ErrorKind::unsupported_contract,
                "no debug information for " + std::string(to_string(platform.cpu)));
  if (platform.pointer_size != 4 && platform.pointer_size != 8)
    throw Error(ErrorKind::invalid_argument, "pointers of neither 4 nor 8 bytes");
}

// LLDB 14 to 16 find the section of a symbol by its name.
std::vector<std::string> section_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(i == 0 ? std::string(".text") : ".text." + std::to_string(i));
  return names;
}

// Source: Linux Standard Base, NT_GNU_BUILD_ID; LLDB takes 16 bytes as they are.
DwarfBytes build_id_note(const DebugModule& module) {
  constexpr std::string_view maker = "lldb-clr", owner = "GNU";
  DwarfBytes note(module.platform);
  note.u32(owner.size() + 1);
  note.u32(maker.size() + sizeof module.identity);
  note.u32(NT_GNU_BUILD_ID);
  note.string(owner);
  note.text(maker, maker.size());
  note.u64(module.identity);
  return note;
}

} // namespace

void write_elf_module(const DebugModule& module, const std::function<void(FileParts)>& use) {
  check_platform(module.platform);
  const PlacedModule placed = place_code(module);

  ElfContainer file(module.platform);
  const std::vector<std::string> names = section_names(placed.sections.size());
  for (std::size_t i = 0; i < placed.sections.size(); ++i) {
    const DebugSection* const section = placed.sections[i];
    const std::uint64_t size = section->end - section->begin;
    file.add({.name = names[i],
              .type = SHT_PROGBITS,
              .flags = SHF_ALLOC | SHF_EXECINSTR,
              .address = section->begin,
              .size = size,
              .bytes = section->bytes.size() == size ? section->bytes : std::span<const std::byte>(),
              .segment = i == 0});
  }

  DwarfFrames frames(module.platform);
  for (const PlacedCode& code : placed.code) frames.add(code);
  const CodeSymbols symbols = write_symbols(placed, first_code_section);
  const std::vector<std::byte> symbol_bytes = file.encode(symbols.symbols);
  const DwarfUnits units = write_units(module, placed);
  const DwarfBytes abbreviations = units.entries.abbreviations();

  const DwarfBytes note = build_id_note(module);
  if (module.identity != 0)
    file.add({.name = ".note.gnu.build-id",
              .type = SHT_NOTE,
              .size = note.size(),
              .bytes = note.bytes(),
              .alignment = sizeof(std::uint32_t)});

  const auto add = [&](std::string_view name, std::span<const std::byte> bytes) {
    if (!bytes.empty()) file.add({.name = name, .type = SHT_PROGBITS, .size = bytes.size(), .bytes = bytes});
  };
  const std::uint32_t strings = file.add({.name = ".strtab",
                                          .type = SHT_STRTAB,
                                          .size = symbols.names.bytes().size(),
                                          .bytes = symbols.names.bytes()});
  file.add({.name = ".symtab",
            .type = SHT_SYMTAB,
            .size = symbol_bytes.size(),
            .bytes = symbol_bytes,
            .link = strings,
            .info = 1, // the first global symbol
            .entry_size = file.symbol_size(),
            .alignment = module.platform.pointer_size});
  add(".debug_frame", frames.section().bytes());
  if (units.entries.info().size() != 0) {
    add(".debug_info", units.entries.info().bytes());
    add(".debug_abbrev", abbreviations.bytes());
    add(".debug_str", units.entries.strings().bytes());
    add(".debug_line", units.lines.section().bytes());
    add(".debug_ranges", units.ranges.bytes());
    add(".debug_loc", units.locations.bytes());
  }
  file.write(use);
}

std::vector<std::byte> write_elf_module(const DebugModule& module) {
  std::vector<std::byte> file;
  write_elf_module(module, [&](FileParts parts) {
    for (const std::span<const std::byte> part : parts) file.insert(file.end(), part.begin(), part.end());
  });
  return file;
}

} // namespace clr
