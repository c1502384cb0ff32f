#include "core/stack/cfi_module.h"

#include "core/memory/cpu_table.h"
#include "core/memory/elf_handle.h"
#include "core/memory/elf_records.h"

#include <dwarf.h>
#include <elf.h>
#include <fmt/format.h>
#include <libelf.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace clr {
namespace {

constexpr ByteOrder order = ByteOrder::little; // the CPUs that we walk have no other
constexpr std::size_t max_piece = 1 << 20;     // of one read
// A wrapper image around the bytes from target memory: one header and one program header.
constexpr std::size_t wrapper_size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);

// The part of the image that lies in memory from an address on.
struct Segment {
  Address begin = 0;
  Address end = 0;
};

struct ProgramHeaders {
  std::vector<Segment> loads;
  std::optional<Segment> eh_frame_hdr;
  Address end = 0;
};

ProgramHeaders read_program_headers(MemoryReader& memory, Address base) {
  std::byte raw[sizeof(Elf64_Ehdr)];
  memory.read(base, raw);
  const std::optional<ElfFormat> format = elf_format(raw);
  if (!format) throw_corrupt(base, "no ELF image");
  if (!format->wide || format->order != order)
    throw_corrupt(base, "an ELF image of another class or byte order");
  const GElf_Ehdr header = decode_elf_header(raw, *format);
  if (header.e_phnum > CfiModule::max_program_headers || header.e_phentsize != format->segment_size())
    throw_corrupt(base, fmt::format("an ELF image with {} program headers of {} bytes", header.e_phnum,
                                    header.e_phentsize));
  std::vector<std::byte> table(std::size_t{header.e_phnum} * header.e_phentsize);
  memory.read(base + header.e_phoff, table);

  ProgramHeaders result;
  std::optional<Address> bias;
  for (std::size_t at = 0; at < table.size(); at += header.e_phentsize) {
    const GElf_Phdr found = decode_segment(std::span(table).subspan(at), *format);
    // Segments are in the order of their addresses: the first one maps the header that lies at `base`.
    if (found.p_type == PT_LOAD && !bias) bias = base - (found.p_vaddr - found.p_offset);
    if (found.p_type != PT_LOAD && found.p_type != PT_GNU_EH_FRAME) continue;
    const Segment segment{found.p_vaddr, found.p_vaddr + found.p_memsz};
    if (found.p_type == PT_LOAD)
      result.loads.push_back(segment);
    else
      result.eh_frame_hdr = segment;
  }
  const auto relocate = [&](Segment& segment) {
    segment.begin += bias.value_or(0);
    segment.end += bias.value_or(0);
    if (segment.end < segment.begin) throw_corrupt(base, "an ELF segment beyond the address space");
  };
  for (Segment& segment : result.loads) {
    relocate(segment);
    result.end = std::max(result.end, segment.end);
  }
  if (result.eh_frame_hdr) relocate(*result.eh_frame_hdr);
  return result;
}

// The pointer to .eh_frame that .eh_frame_hdr holds. libdw reads it again; we need to know what to fetch.
Address eh_frame_address(MemoryReader& memory, Address hdr) {
  std::byte raw[12];
  const std::size_t got = memory.read_some(hdr, raw);
  if (got < 8) throw_missing(hdr + got);
  if (std::to_integer<unsigned>(raw[0]) != 1) throw_corrupt(hdr, "an .eh_frame_hdr of unknown version");
  const unsigned encoding = std::to_integer<unsigned>(raw[1]);
  const std::span<const std::byte> at = std::span(raw).subspan(4);
  std::uint64_t value = 0;
  switch (encoding & 0xF) {
  case DW_EH_PE_udata4:
    value = load<std::uint32_t>(at, order);
    break;
  case DW_EH_PE_sdata4:
    value = static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(at, order)});
    break;
  case DW_EH_PE_absptr:
  case DW_EH_PE_udata8:
  case DW_EH_PE_sdata8:
    if (got < sizeof raw) throw_missing(hdr + got);
    value = load<std::uint64_t>(at, order);
    break;
  default:
    throw_corrupt(hdr, "an .eh_frame_hdr with a pointer of unknown encoding");
  }
  switch (encoding & 0x70) {
  case DW_EH_PE_absptr:
    return value;
  case DW_EH_PE_pcrel:
    return hdr + 4 + value;
  case DW_EH_PE_datarel:
    return hdr + value;
  default:
    throw_corrupt(hdr, "an .eh_frame_hdr with a pointer of unknown encoding");
  }
}

struct CfiEnd {
  void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
};

} // namespace

struct CfiModule::Impl {
  Cpu cpu = Cpu::unknown;
  Address end = 0;
  std::string problem;
  std::vector<char> image;                  // outlives elf and cfi
  Address hdr_begin = 0;                    // .eh_frame_hdr
  std::size_t hdr_offset = 0, hdr_size = 0; // in `image`
  ElfHandle elf;
  std::unique_ptr<Dwarf_CFI, CfiEnd> cfi;

  void open(MemoryReader& memory, Address base) {
    const ProgramHeaders headers = read_program_headers(memory, base);
    end = headers.end;
    if (!headers.eh_frame_hdr) {
      problem = "the module has no .eh_frame_hdr";
      return;
    }
    const Segment hdr = *headers.eh_frame_hdr;
    const Address frames = eh_frame_address(memory, hdr.begin);
    const auto load = std::ranges::find_if(headers.loads, [&](const Segment& segment) {
      return frames >= segment.begin && frames < segment.end;
    });
    if (load == headers.loads.end()) throw_corrupt(hdr.begin, "an .eh_frame outside of its module");
    // .eh_frame has no size of its own here: it reaches to the end of its segment at most.
    const Address low = std::min(hdr.begin, frames), high = std::max(hdr.end, load->end);
    const std::size_t size = std::min<std::uint64_t>(high - low, max_eh_frame);
    // Piece by piece: the size is the file's claim, and what is there may be little.
    image.resize(wrapper_size);
    for (std::size_t got = 0; got < size;) {
      const std::size_t piece = std::min(size - got, max_piece);
      image.resize(wrapper_size + got + piece);
      const std::span<std::byte> room =
          std::as_writable_bytes(std::span(image)).subspan(wrapper_size + got, piece);
      const std::size_t read = memory.read_some(low + got, room);
      got += read;
      if (read == piece) continue;
      image.resize(wrapper_size + got);
      if (got <= std::max(hdr.begin, frames) - low) throw_missing(low + got);
      break;
    }
    write_wrapper(low, hdr);
    hdr_begin = hdr.begin;
    hdr_offset = wrapper_size + (hdr.begin - low);
    hdr_size = hdr.end - hdr.begin;

    elf_version(EV_CURRENT);
    elf.reset(elf_memory(image.data(), image.size()));
    if (elf) cfi.reset(dwarf_getcfi_elf(elf.get()));
    if (!cfi) problem = fmt::format("call frame information: {}", dwarf_errmsg(-1));
  }

  // .eh_frame_hdr, as far as it was there.
  std::span<const std::byte> header() const {
    if (!cfi || hdr_offset >= image.size()) return {};
    return std::as_bytes(std::span(image)).subspan(hdr_offset, std::min(hdr_size, image.size() - hdr_offset));
  }

  // The header that makes libdw find .eh_frame_hdr at its place in the target.
  void write_wrapper(Address low, const Segment& hdr) {
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
    phdr.p_offset = wrapper_size + (hdr.begin - low);
    phdr.p_vaddr = hdr.begin;
    phdr.p_filesz = phdr.p_memsz = hdr.end - hdr.begin;
    std::memcpy(image.data(), &ehdr, sizeof ehdr);
    std::memcpy(image.data() + sizeof ehdr, &phdr, sizeof phdr);
  }
};

CfiModule::CfiModule(MemoryReader& memory, Platform platform, Address base)
    : impl_(std::make_unique<Impl>()) {
  impl_->cpu = platform.cpu;
  try {
    impl_->open(memory, base);
  } catch (const Error& error) {
    impl_->problem = error.what();
  }
}

CfiModule::~CfiModule() = default;

std::optional<CfiRow> CfiModule::row(Address pc) const {
  if (!impl_->cfi) return std::nullopt;
  Dwarf_Frame* frame = nullptr;
  if (dwarf_cfi_addrframe(impl_->cfi.get(), pc, &frame) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owner(frame, &std::free);
  return cfi_row(*frame, impl_->cpu);
}

std::optional<Address> CfiModule::function_start(Address pc) const {
  // Version, encodings of the pointer to .eh_frame, of the count, and of the table: pairs of offsets from the
  // header, of the function and of its description, ascending.
  constexpr std::byte count_encoding{DW_EH_PE_udata4}, table_encoding{DW_EH_PE_datarel | DW_EH_PE_sdata4};
  constexpr std::size_t count_at = 8, table_at = 12, entry_size = 8;
  const std::span<const std::byte> hdr = impl_->header();
  if (hdr.size() < table_at || hdr[2] != count_encoding || hdr[3] != table_encoding ||
      (std::to_integer<unsigned>(hdr[1]) & 0x4) != 0)
    return std::nullopt;
  const auto offset = [&](std::size_t entry) {
    return std::int64_t{load<std::int32_t>(hdr.subspan(table_at + entry * entry_size), order)};
  };
  const auto wanted = static_cast<std::int64_t>(pc - impl_->hdr_begin);
  std::size_t low = 0, high = std::min<std::size_t>(load<std::uint32_t>(hdr.subspan(count_at), order),
                                                    (hdr.size() - table_at) / entry_size);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (offset(middle) <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return std::nullopt;
  return impl_->hdr_begin + static_cast<Address>(offset(low - 1));
}

const std::string& CfiModule::problem() const {
  return impl_->problem;
}

Address CfiModule::end() const {
  return impl_->end;
}

} // namespace clr
