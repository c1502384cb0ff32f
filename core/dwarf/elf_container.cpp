#include "core/dwarf/elf_container.h"

#include "core/memory/cpu_table.h"
#include "core/memory/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace clr {
namespace {

// Where sections without bytes claim to be. No file is that long.
constexpr std::uint64_t beyond_wide = std::uint64_t{1} << 40;
constexpr std::uint64_t beyond_narrow = 0xf000'0000;
constexpr std::size_t file_alignment = 8;

std::size_t aligned(std::size_t size) {
  return (size + file_alignment - 1) / file_alignment * file_alignment;
}

// `count` records of type `type` from native to the file's byte order.
void translate(void* target, const void* source, std::size_t size, Elf_Type type, ElfFormat format) {
  Elf_Data from{}, to{};
  from.d_buf = const_cast<void*>(source); // libelf reads it only
  to.d_buf = target;
  from.d_type = to.d_type = type;
  from.d_version = to.d_version = EV_CURRENT;
  from.d_size = to.d_size = size;
  const unsigned order = format.order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB;
  (format.wide ? elf64_xlatetof : elf32_xlatetof)(&to, &from, order);
}

// A field of a record, which may be narrower than `value` in files of 32 bits.
template<typename Field>
void set(Field& field, std::uint64_t value) {
  field = static_cast<Field>(value);
}

template<typename Header>
Header file_header(Platform platform, ElfFormat format, std::size_t segments, std::size_t sections,
                   std::uint64_t table) {
  Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = format.wide ? ELFCLASS64 : ELFCLASS32;
  header.e_ident[EI_DATA] = format.order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = static_cast<Elf64_Half>(cpu_row(platform.cpu).elf_machine);
  header.e_version = EV_CURRENT;
  set(header.e_shoff, table);
  header.e_ehsize = static_cast<Elf64_Half>(format.header_size());
  if (segments != 0) {
    set(header.e_phoff, format.header_size());
    header.e_phentsize = static_cast<Elf64_Half>(format.segment_size());
    header.e_phnum = static_cast<Elf64_Half>(segments);
  }
  header.e_shentsize = static_cast<Elf64_Half>(format.section_size());
  header.e_shnum = static_cast<Elf64_Half>(sections);
  header.e_shstrndx = static_cast<Elf64_Half>(sections - 1);
  return header;
}

template<typename Record>
Record program_header(const ElfOutputSection& section, std::uint64_t offset) {
  Record record{};
  record.p_type = PT_LOAD;
  record.p_flags = PF_R | PF_X;
  set(record.p_offset, offset);
  set(record.p_vaddr, section.address);
  set(record.p_paddr, section.address);
  set(record.p_filesz, section.bytes.size());
  set(record.p_memsz, section.size);
  set(record.p_align, section.alignment);
  return record;
}

template<typename Record>
Record section_header(const ElfOutputSection& section, std::size_t name, std::uint64_t offset) {
  Record record{};
  set(record.sh_name, name);
  record.sh_type = section.type;
  set(record.sh_flags, section.flags);
  set(record.sh_addr, section.address);
  set(record.sh_offset, offset);
  set(record.sh_size, section.size);
  record.sh_link = section.link;
  record.sh_info = section.info;
  set(record.sh_addralign, section.alignment);
  set(record.sh_entsize, section.entry_size);
  return record;
}

} // namespace

ElfContainer::ElfContainer(const Platform& platform)
    : platform_(platform), format_{platform.pointer_size == 8, platform.byte_order} {
  elf_version(EV_CURRENT);
}

std::uint32_t ElfContainer::add(const ElfOutputSection& section) {
  sections_.push_back(section);
  return static_cast<std::uint32_t>(sections_.size());
}

std::vector<std::byte> ElfContainer::encode(std::span<const Elf64_Sym> symbols) const {
  std::vector<std::byte> out(symbols.size() * symbol_size());
  if (format_.wide) {
    translate(out.data(), symbols.data(), out.size(), ELF_T_SYM, format_);
    return out;
  }
  std::vector<Elf32_Sym> narrow;
  narrow.reserve(symbols.size());
  for (const Elf64_Sym& symbol : symbols)
    narrow.push_back({symbol.st_name, static_cast<Elf32_Addr>(symbol.st_value),
                      static_cast<Elf32_Word>(symbol.st_size), symbol.st_info, symbol.st_other,
                      symbol.st_shndx});
  translate(out.data(), narrow.data(), out.size(), ELF_T_SYM, format_);
  return out;
}

void ElfContainer::write(const std::function<void(FileParts)>& use) const {
  std::vector<ElfOutputSection> sections(1); // number 0 is none
  sections.insert(sections.end(), sections_.begin(), sections_.end());
  sections.push_back({.name = ".shstrtab", .type = SHT_STRTAB});
  // Names that are the same as the one before share it: code has one name in hundreds of sections.
  std::string names;
  std::vector<std::size_t> name_at(sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (i > 0 && sections[i].name == sections[i - 1].name) {
      name_at[i] = name_at[i - 1];
      continue;
    }
    name_at[i] = names.size();
    names.append(sections[i].name).push_back('\0');
  }
  sections.back().bytes = std::as_bytes(std::span(names));
  sections.back().size = names.size();

  const auto segments =
      static_cast<std::size_t>(std::ranges::count(sections, true, &ElfOutputSection::segment));
  const std::uint64_t beyond = format_.wide ? beyond_wide : beyond_narrow;
  std::vector<std::uint64_t> offsets(sections.size());
  std::size_t end = format_.header_size() + segments * format_.segment_size();
  for (std::size_t i = 1; i < sections.size(); ++i) {
    if (sections[i].bytes.empty()) {
      offsets[i] = sections[i].size == 0 ? end : beyond;
      continue;
    }
    end = aligned(end);
    offsets[i] = end;
    end += sections[i].bytes.size();
  }
  const std::size_t table = aligned(end);
  const std::size_t size = table + sections.size() * format_.section_size();
  if (size > beyond) throw Error(ErrorKind::invalid_argument, "too much debug information for one module");

  // No part is copied: memory that is touched for the first time costs more than what is done with it.
  static constexpr std::array<std::byte, file_alignment> padding{};
  std::vector<std::byte> header(format_.header_size()), programs(segments * format_.segment_size()),
      records(sections.size() * format_.section_size());
  std::vector<std::span<const std::byte>> parts;
  std::size_t at = 0;
  const auto add = [&](std::span<const std::byte> bytes, std::size_t offset) {
    if (offset > at) parts.push_back(std::span(padding).first(offset - at));
    parts.push_back(bytes);
    at = offset + bytes.size();
  };
  add(header, 0);
  if (segments != 0) add(programs, header.size());
  for (std::size_t i = 1; i < sections.size(); ++i)
    if (!sections[i].bytes.empty()) add(sections[i].bytes, offsets[i]);
  add(records, table);
  const auto put = [&]<typename Header, typename Program, typename Record>(Header, Program, Record) {
    const Header head = file_header<Header>(platform_, format_, segments, sections.size(), table);
    translate(header.data(), &head, sizeof head, ELF_T_EHDR, format_);
    std::vector<Program> loaded;
    for (std::size_t i = 1; i < sections.size(); ++i)
      if (sections[i].segment) loaded.push_back(program_header<Program>(sections[i], offsets[i]));
    translate(programs.data(), loaded.data(), loaded.size() * sizeof(Program), ELF_T_PHDR, format_);
    std::vector<Record> native(1);
    for (std::size_t i = 1; i < sections.size(); ++i)
      native.push_back(section_header<Record>(sections[i], name_at[i], offsets[i]));
    translate(records.data(), native.data(), native.size() * sizeof(Record), ELF_T_SHDR, format_);
  };
  if (format_.wide)
    put(Elf64_Ehdr{}, Elf64_Phdr{}, Elf64_Shdr{});
  else
    put(Elf32_Ehdr{}, Elf32_Phdr{}, Elf32_Shdr{});
  use(parts);
}

} // namespace clr
