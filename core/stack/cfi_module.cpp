#include "core/stack/cfi_module.h"

#include "core/memory/elf_handle.h"
#include "core/memory/elf_records.h"
#include "core/stack/cfi_entry.h"
#include "core/stack/cfi_program.h"

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
// Header and program header around the bytes from target memory.
constexpr std::size_t wrapper_size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
// The usual search table of .eh_frame_hdr: pairs of offsets from the header, of the function and of its
// description, behind the version, the encodings of the pointer to .eh_frame, of the count and of the table,
// that pointer and the count.
constexpr std::byte count_encoding{DW_EH_PE_udata4}, table_encoding{DW_EH_PE_datarel | DW_EH_PE_sdata4};
constexpr std::size_t count_at = 8, table_at = 12, table_entry_size = 8;

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

// libdw's reading of an image, which must outlive it.
struct LibdwCfi {
  explicit LibdwCfi(std::vector<char>& image) {
    elf_version(EV_CURRENT);
    elf.reset(elf_memory(image.data(), image.size()));
    if (elf) cfi.reset(dwarf_getcfi_elf(elf.get()));
  }
  ElfHandle elf;
  std::unique_ptr<Dwarf_CFI, CfiEnd> cfi; // null: it cannot be read
};

// The row of `entry` for `pc`, which it describes.
std::optional<CfiRow> row_of_entry(const CfiEntry& entry, Address pc, Cpu cpu) {
  std::vector<char> image = cfi_image_of(entry, cpu);
  const LibdwCfi libdw(image);
  Dwarf_Frame* frame = nullptr;
  if (!libdw.cfi || dwarf_cfi_addrframe(libdw.cfi.get(), pc, &frame) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owner(frame, &std::free);
  return cfi_row(*frame, cpu);
}

} // namespace

struct CfiModule::Impl {
  Cpu cpu = Cpu::unknown;
  CfiRoom* room = nullptr;
  Address end = 0;
  std::string problem;
  std::vector<char> image;                  // empty when there is a problem
  Address hdr_begin = 0;                    // .eh_frame_hdr
  std::size_t hdr_offset = 0, hdr_size = 0; // in `image`
  Address frames_begin = 0;                 // .eh_frame
  std::size_t frames_offset = 0;            // in `image`
  bool has_table = false;                   // in its usual form, and in order
  std::vector<ListedCfi> listed;            // without that

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
    read_image(memory, low, high, std::max(hdr.begin, frames));
    const std::vector<char> header =
        cfi_image_header(cpu, wrapper_size + (hdr.begin - low), hdr.begin, hdr.end - hdr.begin);
    std::ranges::copy(header, image.begin());
    hdr_begin = hdr.begin;
    hdr_offset = wrapper_size + (hdr.begin - low);
    hdr_size = hdr.end - hdr.begin;
    frames_begin = frames;
    frames_offset = wrapper_size + (frames - low);
    if (!LibdwCfi(image).cfi)
      throw Error(ErrorKind::corrupt, fmt::format("call frame information: {}", dwarf_errmsg(-1)));
    has_table = table_is_in_order();
    if (!has_table) {
      CfiList list = list_cfi(section());
      listed = std::move(list.functions);
      if (!list.whole)
        problem =
            fmt::format("the module has no search table for its more than {} functions", max_listed_cfi);
    }
    const std::size_t size = image.size() + listed.size() * sizeof(ListedCfi);
    if (!room->bytes.has(size)) throw_no_room();
    room->bytes.keep(size);
  }

  // Reads [low, high) piece by piece: the size is the file's claim, and what is there may be little.
  // Something must be there beyond `needed`.
  void read_image(MemoryReader& memory, Address low, Address high, Address needed) {
    const std::size_t wanted = std::min<std::uint64_t>(high - low, max_eh_frame);
    const std::size_t size = std::min<std::uint64_t>(wanted, room->bytes.left());
    image.resize(wrapper_size);
    std::size_t got = 0;
    while (got < size) {
      const std::size_t piece = std::min(size - got, max_piece);
      image.resize(wrapper_size + got + piece);
      const std::span<std::byte> to =
          std::as_writable_bytes(std::span(image)).subspan(wrapper_size + got, piece);
      const std::size_t read = memory.read_some(low + got, to);
      got += read;
      if (read != piece) break;
    }
    image.resize(wrapper_size + got);
    if (got == size && size < wanted) throw_no_room();
    if (got < size && got <= needed - low) throw_missing(low + got);
  }
  [[noreturn]] static void throw_no_room() {
    throw Error(
        ErrorKind::corrupt,
        fmt::format("the call frame information of all modules is more than {} bytes", max_cfi_bytes));
  }

  EhFrame section() const {
    return {std::as_bytes(std::span(image)).subspan(std::min(frames_offset, image.size())), frames_begin};
  }

  // .eh_frame_hdr, as far as it was there.
  std::span<const std::byte> header() const {
    if (hdr_offset >= image.size()) return {};
    return std::as_bytes(std::span(image)).subspan(hdr_offset, std::min(hdr_size, image.size() - hdr_offset));
  }

  // Entries of the search table; 0 without one in its usual form.
  std::size_t table_entries() const {
    const std::span<const std::byte> hdr = header();
    if (hdr.size() < table_at || hdr[2] != count_encoding || hdr[3] != table_encoding) return 0;
    const unsigned pointer = std::to_integer<unsigned>(hdr[1]) & 0xF;
    if (pointer != DW_EH_PE_udata4 && pointer != DW_EH_PE_sdata4) return 0;
    return std::min<std::size_t>(load<std::uint32_t>(hdr.subspan(count_at), order),
                                 (hdr.size() - table_at) / table_entry_size);
  }
  // What the table has of an entry: where the function begins, or its description.
  Address table_address(std::size_t entry, bool description) const {
    const std::size_t at = table_at + entry * table_entry_size + (description ? table_entry_size / 2 : 0);
    return hdr_begin + static_cast<Address>(std::int64_t{load<std::int32_t>(header().subspan(at), order)});
  }
  bool table_is_in_order() const {
    const std::size_t count = table_entries();
    for (std::size_t i = 1; i < count; ++i)
      if (table_address(i, false) < table_address(i - 1, false)) return false;
    return count != 0;
  }
  // The last entry of the table that begins at or before `pc`.
  std::optional<std::size_t> table_entry_of(Address pc) const {
    const auto offset = [&](std::size_t entry) {
      return static_cast<std::int64_t>(table_address(entry, false) - hdr_begin);
    };
    const auto wanted = static_cast<std::int64_t>(pc - hdr_begin);
    std::size_t low = 0, high = table_entries();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (offset(middle) <= wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low == 0 ? std::nullopt : std::optional(low - 1);
  }

  // Where in .eh_frame the description of `pc` may be.
  std::optional<std::uint64_t> description_of(Address pc) const {
    if (has_table) {
      const auto entry = table_entry_of(pc);
      return entry ? std::optional(table_address(*entry, true) - frames_begin) : std::nullopt;
    }
    const auto next = std::ranges::upper_bound(listed, pc, {}, &ListedCfi::begin);
    if (next == listed.begin() || pc >= std::prev(next)->end) return std::nullopt;
    return std::prev(next)->offset;
  }

  // Counts what libdw is about to do for `entry`. Throws Error{corrupt} when that, or all of it, is too much.
  void count_work(const CfiEntry& entry) {
    const auto add = [&](std::uint64_t work) {
      if (work > max_cfi_work - room->work)
        throw Error(ErrorKind::corrupt, "call frame information of which too much was looked up");
      room->work += work;
    };
    add(entry.initial.size() + entry.program.size());
    add(work_of_cfi_program(entry.initial, entry.plain_addresses) +
        work_of_cfi_program(entry.program, entry.plain_addresses));
  }
};

CfiModule::CfiModule(MemoryReader& memory, Platform platform, Address base, CfiRoom& room)
    : impl_(std::make_unique<Impl>()) {
  impl_->cpu = platform.cpu;
  impl_->room = &room;
  try {
    impl_->open(memory, base);
  } catch (const Error& error) {
    impl_->problem = error.what();
    room.bytes.waste(std::min<std::uint64_t>(impl_->image.size(), room.bytes.left()));
    impl_->image = {};
    impl_->listed = {};
  }
}

CfiModule::~CfiModule() = default;

std::optional<CfiRow> CfiModule::row(Address pc) const {
  if (impl_->image.empty()) return std::nullopt;
  const std::optional<std::uint64_t> at = impl_->description_of(pc);
  if (!at) return std::nullopt;
  const CfiEntry entry = cfi_entry_at(impl_->section(), *at);
  if (pc < entry.begin || pc >= entry.end) return std::nullopt;
  impl_->count_work(entry);
  return row_of_entry(entry, pc, impl_->cpu);
}

std::optional<Address> CfiModule::function_start(Address pc) const {
  const std::optional<std::size_t> entry = impl_->table_entry_of(pc);
  return entry ? std::optional(impl_->table_address(*entry, false)) : std::nullopt;
}

const std::string& CfiModule::problem() const {
  return impl_->problem;
}

Address CfiModule::end() const {
  return impl_->end;
}

} // namespace clr
