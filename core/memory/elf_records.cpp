#include "core/memory/elf_records.h"

#include "core/memory/cpu_table.h"
#include "core/memory/memory_reader.h"

namespace clr {
namespace {

// A longer one is no hash.
constexpr std::size_t max_build_id = 64;

template<typename Record, typename Translate>
Record translate(std::span<const std::byte> bytes, Elf_Type type, ByteOrder order, Translate translator) {
  Record raw, native;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  Elf_Data source{}, target{};
  source.d_buf = &raw;
  target.d_buf = &native;
  source.d_type = target.d_type = type;
  source.d_version = target.d_version = EV_CURRENT;
  source.d_size = target.d_size = sizeof(Record);
  translator(&target, &source, order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB);
  return native;
}

template<typename Wide, typename Narrow, typename Widen>
Wide decode(std::span<const std::byte> bytes, ElfFormat format, Elf_Type type, Widen widen) {
  if (format.wide) return translate<Wide>(bytes, type, format.order, elf64_xlatetom);
  return widen(translate<Narrow>(bytes, type, format.order, elf32_xlatetom));
}

} // namespace

std::optional<ElfFormat> elf_format(std::span<const std::byte> bytes) {
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  const auto wide = std::to_integer<unsigned>(bytes[EI_CLASS]);
  const auto order = std::to_integer<unsigned>(bytes[EI_DATA]);
  if (wide != ELFCLASS32 && wide != ELFCLASS64) return std::nullopt;
  if (order != ELFDATA2LSB && order != ELFDATA2MSB) return std::nullopt;
  return ElfFormat{wide == ELFCLASS64, order == ELFDATA2LSB ? ByteOrder::little : ByteOrder::big};
}

Platform elf_platform(ElfFormat format, const GElf_Ehdr& header) {
  return {format.wide ? 8u : 4u, format.order, cpu_of_elf_machine(header.e_machine), Os::unix_like};
}

GElf_Ehdr decode_elf_header(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Ehdr, Elf32_Ehdr>(bytes, format, ELF_T_EHDR, [](const Elf32_Ehdr& narrow) {
    Elf64_Ehdr wide{};
    std::memcpy(wide.e_ident, narrow.e_ident, sizeof wide.e_ident);
    wide.e_type = narrow.e_type;
    wide.e_machine = narrow.e_machine;
    wide.e_version = narrow.e_version;
    wide.e_entry = narrow.e_entry;
    wide.e_phoff = narrow.e_phoff;
    wide.e_shoff = narrow.e_shoff;
    wide.e_flags = narrow.e_flags;
    wide.e_ehsize = narrow.e_ehsize;
    wide.e_phentsize = narrow.e_phentsize;
    wide.e_phnum = narrow.e_phnum;
    wide.e_shentsize = narrow.e_shentsize;
    wide.e_shnum = narrow.e_shnum;
    wide.e_shstrndx = narrow.e_shstrndx;
    return wide;
  });
}

GElf_Phdr decode_segment(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Phdr, Elf32_Phdr>(bytes, format, ELF_T_PHDR, [](const Elf32_Phdr& narrow) {
    return Elf64_Phdr{narrow.p_type,  narrow.p_flags,  narrow.p_offset, narrow.p_vaddr,
                      narrow.p_paddr, narrow.p_filesz, narrow.p_memsz,  narrow.p_align};
  });
}

GElf_Shdr decode_section(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Shdr, Elf32_Shdr>(bytes, format, ELF_T_SHDR, [](const Elf32_Shdr& narrow) {
    return Elf64_Shdr{narrow.sh_name,      narrow.sh_type,   narrow.sh_flags, narrow.sh_addr,
                      narrow.sh_offset,    narrow.sh_size,   narrow.sh_link,  narrow.sh_info,
                      narrow.sh_addralign, narrow.sh_entsize};
  });
}

GElf_Sym decode_symbol(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Sym, Elf32_Sym>(bytes, format, ELF_T_SYM, [](const Elf32_Sym& narrow) {
    return Elf64_Sym{narrow.st_name,  narrow.st_info,  narrow.st_other,
                     narrow.st_shndx, narrow.st_value, narrow.st_size};
  });
}

GElf_Dyn decode_dynamic(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Dyn, Elf32_Dyn>(bytes, format, ELF_T_DYN, [](const Elf32_Dyn& narrow) {
    return Elf64_Dyn{narrow.d_tag, {narrow.d_un.d_val}};
  });
}

GElf_Rela decode_rel(std::span<const std::byte> bytes, ElfFormat format) {
  const auto rel = decode<Elf64_Rel, Elf32_Rel>(bytes, format, ELF_T_REL, [](const Elf32_Rel& narrow) {
    return Elf64_Rel{narrow.r_offset, ELF64_R_INFO(static_cast<Elf64_Xword>(ELF32_R_SYM(narrow.r_info)),
                                                   ELF32_R_TYPE(narrow.r_info))};
  });
  return {rel.r_offset, rel.r_info, 0};
}

GElf_Rela decode_rela(std::span<const std::byte> bytes, ElfFormat format) {
  return decode<Elf64_Rela, Elf32_Rela>(bytes, format, ELF_T_RELA, [](const Elf32_Rela& narrow) {
    return Elf64_Rela{
        narrow.r_offset,
        ELF64_R_INFO(static_cast<Elf64_Xword>(ELF32_R_SYM(narrow.r_info)), ELF32_R_TYPE(narrow.r_info)),
        narrow.r_addend};
  });
}

std::uint64_t decode_word(std::span<const std::byte> bytes, ElfFormat format) {
  return format.wide ? load<std::uint64_t>(bytes, format.order) : load<std::uint32_t>(bytes, format.order);
}

ElfSegment to_elf_segment(const GElf_Phdr& segment) {
  return {.type = segment.p_type,
          .readable = (segment.p_flags & PF_R) != 0,
          .writable = (segment.p_flags & PF_W) != 0,
          .executable = (segment.p_flags & PF_X) != 0,
          .address = segment.p_vaddr,
          .memory_size = segment.p_memsz,
          .file_offset = segment.p_offset,
          .file_size = segment.p_filesz,
          .alignment = segment.p_align};
}

bool for_each_note(std::span<const std::byte> bytes, ByteOrder order, std::uint64_t alignment,
                   const std::function<bool(const ElfNote&)>& visit) {
  const std::uint64_t unit = alignment == 8 ? 8 : 4;
  const auto padded = [unit](std::uint64_t size) { return (size + unit - 1) / unit * unit; };
  constexpr std::uint64_t header = 12;
  std::uint64_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at < header) return false;
    const std::uint64_t name_size = load<std::uint32_t>(bytes.subspan(at), order);
    const std::uint64_t size = load<std::uint32_t>(bytes.subspan(at + 4), order);
    const std::uint64_t name_at = at + header;
    const std::uint64_t description_at = at + padded(header + name_size);
    if (description_at > bytes.size() || size > bytes.size() - description_at) return false;
    std::string_view owner(reinterpret_cast<const char*>(bytes.data() + name_at), name_size);
    owner = owner.substr(0, owner.find('\0'));
    const ElfNote note{owner, load<std::uint32_t>(bytes.subspan(at + 8), order),
                       bytes.subspan(description_at, size)};
    if (!visit(note)) return true;
    at = description_at + padded(size);
  }
  return true;
}

std::vector<std::uint8_t> find_build_id(std::span<const std::byte> notes, ByteOrder order,
                                        std::uint64_t alignment) {
  std::vector<std::uint8_t> id;
  for_each_note(notes, order, alignment, [&](const ElfNote& note) {
    if (note.type != NT_GNU_BUILD_ID || note.owner != "GNU" || note.description.empty() ||
        note.description.size() > max_build_id)
      return true;
    for (const std::byte byte : note.description) id.push_back(std::to_integer<std::uint8_t>(byte));
    return false;
  });
  return id;
}

} // namespace clr
