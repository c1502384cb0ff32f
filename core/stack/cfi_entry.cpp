#include "core/stack/cfi_entry.h"

#include "core/memory/cpu_table.h"
#include "core/memory/memory_reader.h"
#include "core/stack/cfi_cursor.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace clr {
namespace {

constexpr unsigned value_mask = 0x0F, base_mask = 0x70;

[[noreturn]] void refuse_entry(const EhFrame& section, std::uint64_t offset, std::string_view what) {
  throw_corrupt(section.address + offset, what);
}

// An entry without its length and what it refers to.
struct RawEntry {
  std::uint64_t refers = 0; // to a common entry, by the distance back; 0: it is one
  std::span<const std::byte> body;
  std::uint64_t id_at = 0, body_at = 0, end = 0; // offsets in the section
};

RawEntry raw_entry_at(const EhFrame& section, std::uint64_t offset) {
  if (offset >= section.bytes.size())
    refuse_entry(section, offset, "call frame information that is not there");
  CfiCursor cursor(section.bytes.subspan(offset));
  const std::uint32_t size = cursor.number<std::uint32_t>();
  CfiCursor entry(cursor.take(size)); // also refuses the mark of 64-bit entries, which nobody writes
  RawEntry raw{.refers = entry.number<std::uint32_t>(),
               .body = entry.rest(),
               .id_at = offset + sizeof size,
               .body_at = offset + 2 * sizeof size,
               .end = offset + sizeof size + size};
  return raw;
}

std::size_t size_of_pointer(unsigned encoding) {
  switch (encoding & value_mask) {
  case DW_EH_PE_udata2:
  case DW_EH_PE_sdata2:
    return 2;
  case DW_EH_PE_udata4:
  case DW_EH_PE_sdata4:
    return 4;
  case DW_EH_PE_absptr:
  case DW_EH_PE_udata8:
  case DW_EH_PE_sdata8:
    return 8;
  default:
    return 0;
  }
}

// The number of a pointer, without what it is relative to.
std::uint64_t read_pointer_value(CfiCursor& cursor, unsigned encoding) {
  switch (encoding & value_mask) {
  case DW_EH_PE_udata2:
    return cursor.number<std::uint16_t>();
  case DW_EH_PE_sdata2:
    return static_cast<std::uint64_t>(std::int64_t{cursor.number<std::int16_t>()});
  case DW_EH_PE_udata4:
    return cursor.number<std::uint32_t>();
  case DW_EH_PE_sdata4:
    return static_cast<std::uint64_t>(std::int64_t{cursor.number<std::int32_t>()});
  default:
    return cursor.number<std::uint64_t>();
  }
}

// What a common entry says of the entries that refer to it.
struct CommonEntry {
  std::span<const std::byte> factors, initial;
  std::uint64_t return_address = 0;
  bool signal = false, sized = false;
  unsigned encoding = DW_EH_PE_absptr; // of addresses of code
};

void read_form(CommonEntry& common, std::string_view form, std::span<const std::byte> data) {
  CfiCursor cursor(data);
  for (const char letter : form) {
    switch (letter) {
    case 'S':
      common.signal = true;
      break;
    case 'B': // pointers are signed with the other key
    case 'G': // memory is tagged
      break;
    case 'L': // how the FDE's language specific data are encoded
      cursor.skip(1);
      break;
    case 'P': { // the personality routine
      const unsigned encoding = cursor.byte();
      const std::size_t size = size_of_pointer(encoding);
      if (size == 0 || (encoding & base_mask) == DW_EH_PE_aligned)
        throw Error(ErrorKind::corrupt, "call frame information with a pointer of unknown encoding");
      cursor.skip(size);
      break;
    }
    case 'R':
      common.encoding = cursor.byte();
      break;
    default:
      return; // the size of the data is known, and what they say is left aside
    }
  }
}

CommonEntry common_entry_at(const EhFrame& section, std::uint64_t offset) {
  const RawEntry raw = raw_entry_at(section, offset);
  if (raw.refers != 0) refuse_entry(section, offset, "call frame information without its common part");
  CfiCursor cursor(raw.body);
  const unsigned version = cursor.byte();
  if (version != 1 && version != 3)
    refuse_entry(section, offset, "call frame information of unknown version");
  std::string form;
  while (const unsigned letter = cursor.byte()) {
    form += static_cast<char>(letter);
    if (form.size() > max_cfi_form) break;
  }
  CommonEntry common{.sized = form.starts_with('z')};
  if (form.size() > max_cfi_form || (!form.empty() && !common.sized))
    refuse_entry(section, offset, "call frame information of unknown form");
  const std::size_t factors_at = cursor.passed();
  cursor.uleb();
  cursor.uleb(); // signed, of the same bytes
  common.factors = raw.body.subspan(factors_at, cursor.passed() - factors_at);
  common.return_address = version == 1 ? cursor.byte() : cursor.uleb();
  if (common.sized) read_form(common, std::string_view(form).substr(1), cursor.take(cursor.uleb()));
  common.initial = cursor.rest();
  return common;
}

struct ImageWriter {
  std::vector<char> image;

  template<typename Number>
  void number(Number value) {
    for (std::size_t n = 0; n < sizeof value; ++n)
      image.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * n)));
  }
  void uleb(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) number(static_cast<std::uint8_t>(value | 0x80));
    number(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view with_end) { image.insert(image.end(), with_end.begin(), with_end.end()); }
  void bytes(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) image.push_back(static_cast<char>(byte));
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(image.size()); }
  // The length of the entry that begins at `at` and ends here.
  void close(std::uint32_t at) {
    while (image.size() % 8 != 0) number(std::uint8_t{DW_CFA_nop});
    const std::uint32_t length = size() - at - std::uint32_t{sizeof at};
    std::memcpy(image.data() + at, &length, sizeof length);
  }
};

} // namespace

CfiEntry cfi_entry_at(const EhFrame& section, std::uint64_t offset) {
  const RawEntry raw = raw_entry_at(section, offset);
  if (raw.refers == 0 || raw.refers > raw.id_at)
    refuse_entry(section, offset, "call frame information of no function");
  const CommonEntry common = common_entry_at(section, raw.id_at - raw.refers);
  CfiCursor cursor(raw.body);
  const unsigned base = common.encoding & base_mask;
  if (size_of_pointer(common.encoding) == 0 || (common.encoding & DW_EH_PE_indirect) != 0 ||
      (base != DW_EH_PE_absptr && base != DW_EH_PE_pcrel))
    refuse_entry(section, offset, "call frame information with a pointer of unknown encoding");
  CfiEntry entry{.factors = common.factors,
                 .return_address = common.return_address,
                 .signal = common.signal,
                 .plain_addresses = common.encoding == DW_EH_PE_absptr,
                 .initial = common.initial};
  entry.begin = read_pointer_value(cursor, common.encoding);
  if (base == DW_EH_PE_pcrel) entry.begin += section.address + raw.body_at;
  entry.end = entry.begin + read_pointer_value(cursor, common.encoding);
  if (common.sized) cursor.skip(cursor.uleb());
  entry.program = cursor.rest();
  return entry;
}

CfiList list_cfi(const EhFrame& section) {
  CfiList list;
  std::size_t looked_at = 0;
  for (std::uint64_t offset = 0; offset < section.bytes.size();) {
    RawEntry raw;
    try {
      raw = raw_entry_at(section, offset);
    } catch (const Error&) {
      break; // the end, or nothing tells where the next one is
    }
    const std::uint64_t at = std::exchange(offset, raw.end);
    if (raw.refers == 0) continue;
    list.whole = looked_at++ < max_listed_cfi;
    if (!list.whole) break;
    try {
      const CfiEntry entry = cfi_entry_at(section, at);
      list.functions.push_back({entry.begin, entry.end, at});
    } catch (const Error&) {
      // The functions that the others describe are found.
    }
  }
  std::ranges::stable_sort(list.functions, {}, &ListedCfi::begin);
  return list;
}

std::vector<char> cfi_image_header(Cpu cpu, std::uint64_t offset, Address address, std::uint64_t size) {
  Elf64_Ehdr ehdr{};
  std::memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
  ehdr.e_ident[EI_CLASS] = ELFCLASS64;
  ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
  ehdr.e_ident[EI_VERSION] = EV_CURRENT;
  ehdr.e_type = ET_DYN;
  ehdr.e_machine = static_cast<Elf64_Half>(cpu_row(cpu).elf_machine);
  ehdr.e_version = EV_CURRENT;
  ehdr.e_phoff = sizeof ehdr;
  ehdr.e_ehsize = sizeof ehdr;
  ehdr.e_phentsize = sizeof(Elf64_Phdr);
  ehdr.e_phnum = 1;
  Elf64_Phdr phdr{};
  phdr.p_type = PT_GNU_EH_FRAME;
  phdr.p_offset = offset;
  phdr.p_vaddr = address;
  phdr.p_filesz = phdr.p_memsz = size;
  std::vector<char> image(sizeof ehdr + sizeof phdr);
  std::memcpy(image.data(), &ehdr, sizeof ehdr);
  std::memcpy(image.data() + sizeof ehdr, &phdr, sizeof phdr);
  return image;
}

std::vector<char> cfi_image_of(const CfiEntry& entry, Cpu cpu) {
  // .eh_frame_hdr without a search table: version, encodings, the address of .eh_frame. Addresses of the
  // image are offsets in it.
  constexpr std::uint32_t hdr_size = 16;
  const std::size_t header_size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  ImageWriter out{cfi_image_header(cpu, header_size, header_size, hdr_size)};
  out.bytes(std::array{std::byte{1}, std::byte{DW_EH_PE_absptr}, std::byte{DW_EH_PE_omit},
                       std::byte{DW_EH_PE_omit}});
  out.number(std::uint64_t{header_size + hdr_size});
  out.number(std::uint32_t{0});

  const std::uint32_t common = out.size();
  out.number(std::uint32_t{0}); // its length
  out.number(std::uint32_t{0});
  out.number(std::uint8_t{3}); // the version
  out.text(entry.signal ? std::string_view("zRS\0", 4) : std::string_view("zR\0", 3));
  out.bytes(entry.factors);
  out.uleb(entry.return_address);
  out.uleb(1);
  out.number(std::uint8_t{DW_EH_PE_absptr});
  out.bytes(entry.initial);
  out.close(common);

  const std::uint32_t function = out.size();
  out.number(std::uint32_t{0});
  out.number(out.size() - common);
  out.number(entry.begin);
  out.number(entry.end - entry.begin);
  out.uleb(0);
  out.bytes(entry.program);
  out.close(function);
  out.number(std::uint64_t{0}); // the end of the list
  return std::move(out.image);
}

} // namespace clr
