#include "core/memory/elf_core.h"

#include "core/memory/page_cache.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

// Bytes of the table of program headers that are read at once.
constexpr std::uint64_t table_piece = 64 * 1024;

// End of a segment or extent. One that reaches the top of the address space loses its last byte, so that
// its end does not wrap to 0.
Address end_of(Address begin, std::uint64_t size) {
  return size > ~begin ? ~Address{0} : begin + size;
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Names the format of a file that is not ELF: cores arrive compressed, and from other systems.
std::string_view name_of_format(std::span<const std::byte> bytes) {
  struct Magic {
    std::string_view bytes, name;
  };
  static constexpr std::array<Magic, 7> known{{
      {"\x1f\x8b", "packed with gzip; unpack it first"},
      {"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"},
      {"\x04\x22\x4d\x18", "packed with lz4; unpack it first"},
      {"\xfd\x37zXZ", "packed with xz; unpack it first"},
      {"PK\x03\x04", "a zip archive; unpack it first"},
      {"MDMP",
       "a minidump, of Windows or of LLDB's process save-core; clr savecore writes cores that are read"},
      {"\xcf\xfa\xed\xfe", "a Mach-O file"},
  }};
  for (const Magic& magic : known)
    if (bytes.size() >= magic.bytes.size() &&
        std::memcmp(bytes.data(), magic.bytes.data(), magic.bytes.size()) == 0)
      return magic.name;
  return bytes.empty() ? "empty" : "not an ELF file";
}

} // namespace

std::unique_ptr<ElfCore> ElfCore::open(const std::string& path) {
  return std::unique_ptr<ElfCore>(new ElfCore(HostFile::open(path)));
}

ElfCore::ElfCore(HostFile file)
    : path_(file.path()), modified_(file.status().st_mtim.tv_sec), bytes_(std::move(file)) {
  parse();
}

ElfCore::ElfCore(std::span<const std::byte> bytes) : bytes_(bytes) {
  parse();
}

void ElfCore::parse() {
  const std::string name = path().empty() ? "the core" : path();
  const std::vector<std::byte> front = bytes_.read(0, sizeof(Elf64_Ehdr));
  const auto format = elf_format(front);
  if (!format) throw Error(ErrorKind::corrupt, fmt::format("{} is {}", name, name_of_format(front)));
  format_ = *format;
  if (front.size() < format_.header_size())
    throw Error(ErrorKind::corrupt, fmt::format("{} is cut inside its ELF header", name));
  const GElf_Ehdr header = decode_elf_header(front, format_);
  if (header.e_type != ET_CORE)
    throw Error(ErrorKind::corrupt,
                fmt::format("{} is an ELF file but not a core (type {})", name, header.e_type));
  platform_ = elf_platform(format_, header);

  std::vector<NoteSegment> notes;
  bool has_notes = false;
  const std::uint64_t count = count_segments(header);
  std::vector<std::byte> piece; // of the table of program headers
  std::uint64_t piece_at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = header.e_phoff + i * header.e_phentsize;
    if (i == 0 || at - piece_at + format_.segment_size() > piece.size()) {
      piece = bytes_.read(at, table_piece);
      piece_at = at;
    }
    if (piece.size() < format_.segment_size())
      throw Error(ErrorKind::io, fmt::format("{} was cut while it was read", name));
    const GElf_Phdr segment = decode_segment(std::span(piece).subspan(at - piece_at), format_);
    if (segment.p_type == PT_LOAD) {
      add_segment(segment);
    } else if (segment.p_type == PT_NOTE) {
      has_notes = true;
      promised_size_ = std::max(promised_size_, end_of(segment.p_offset, segment.p_filesz));
      add_notes(segment, notes);
    }
  }
  std::stable_sort(segments_.begin(), segments_.end(),
                   [](const CoreSegment& a, const CoreSegment& b) { return a.begin < b.begin; });
  build_extents();
  notes_ = parse_core_notes(notes, format_, platform_.cpu);
  describe_problems(has_notes);
}

void ElfCore::add_notes(const GElf_Phdr& segment, std::vector<NoteSegment>& notes) {
  if (segment.p_offset >= bytes_.size() || segment.p_filesz == 0) return;
  const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, bytes_.size() - segment.p_offset);
  wanted_note_size_ += size;
  const std::uint64_t used = std::min(size, max_note_bytes - note_size_);
  if (used == 0) return;
  if (notes.size() == max_note_segments) {
    ++left_out_notes_;
    return;
  }
  note_bytes_.push_back(bytes_.read(segment.p_offset, used));
  note_size_ += note_bytes_.back().size();
  notes.push_back({note_bytes_.back(), segment.p_align});
}

// Number of program headers that the file really holds.
std::uint64_t ElfCore::count_segments(const GElf_Ehdr& header) {
  std::uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {
    // The true number is in section header 0, which the kernel writes at the very end of the file.
    if (header.e_shoff != 0 && header.e_shoff <= bytes_.size() &&
        bytes_.size() - header.e_shoff >= format_.section_size())
      count = decode_section(bytes_.read(header.e_shoff, format_.section_size()), format_).sh_info;
    else
      problems_.push_back("the number of program headers is in a part of the file that is cut off; the first "
                          "65535 are used");
  }
  if (count == 0) return 0;
  if (header.e_phentsize < format_.segment_size() || header.e_phoff > bytes_.size()) {
    problems_.push_back("the program headers lie outside the file");
    return 0;
  }
  const std::uint64_t there = (bytes_.size() - header.e_phoff) / header.e_phentsize;
  if (count > there) {
    problems_.push_back(fmt::format("the file ends after {} of {} program headers", there, count));
    count = there;
  }
  if (count > max_segments) {
    problems_.push_back(fmt::format("only {} of {} program headers are used", max_segments, count));
    count = max_segments;
  }
  return count;
}

void ElfCore::add_segment(const GElf_Phdr& raw) {
  const Address limit = format_.wide ? ~Address{0} : Address{0xffff'ffff};
  CoreSegment segment{.begin = raw.p_vaddr,
                      .memory_size = raw.p_memsz,
                      .file_size = std::min(raw.p_filesz, raw.p_memsz),
                      .file_offset = raw.p_offset,
                      .readable = (raw.p_flags & PF_R) != 0,
                      .writable = (raw.p_flags & PF_W) != 0,
                      .executable = (raw.p_flags & PF_X) != 0};
  if (segment.memory_size == 0) return;
  segment.memory_size = std::min(segment.memory_size, limit - segment.begin);
  segment.file_size = std::min(segment.file_size, segment.memory_size);
  const std::uint64_t there =
      segment.file_offset < bytes_.size() ? bytes_.size() - segment.file_offset : std::uint64_t{0};
  if (segment.file_size > there) {
    // Wrong sizes must not make the sum wrap into a small number.
    cut_bytes_ = end_of(cut_bytes_, segment.file_size - there);
    promised_size_ = std::max(promised_size_, end_of(segment.file_offset, segment.file_size));
    segment.file_size = there;
  }
  segments_.push_back(segment);
}

void ElfCore::build_extents() {
  Address covered = 0; // end of the addresses that are covered so far; 0: none yet
  std::uint64_t room = end_of(bytes_.size(), max_shared_bytes), omitted = 0;
  for (const CoreSegment& segment : segments_) {
    const Address end = end_of(segment.begin, segment.file_size);
    const Address begin = std::max(segment.begin, covered);
    if (begin >= end) continue;
    covered = end;
    if (end - begin > room) {
      omitted = end_of(omitted, end - begin);
      continue;
    }
    room -= end - begin;
    extents_.push_back({begin, end - begin, segment.file_offset + (begin - segment.begin)});
  }
  if (omitted != 0)
    problems_.push_back(fmt::format("segments share their bytes of the file, which has {}: {} of memory are "
                                    "left out",
                                    megabytes(bytes_.size()), megabytes(omitted)));
  if (extents_.empty()) return;
  // gdb puts the first segment at any offset, but whole pages behind each other.
  constexpr std::uint64_t page_size = PageCache::page_size;
  const Extent& first = extents_.front();
  bytes_.set_page_begin((first.file_offset + page_size - first.begin % page_size) % page_size);
}

void ElfCore::describe_problems(bool has_notes) {
  if (promised_size_ > bytes_.size())
    problems_.push_back(fmt::format("the file is cut: {} of {}, {} of memory are missing at its end",
                                    megabytes(bytes_.size()), megabytes(promised_size_),
                                    megabytes(cut_bytes_)));
  if (segments_.empty()) problems_.push_back("the core holds no memory");
  if (left_out_notes_ != 0)
    problems_.push_back(fmt::format("only {} of {} note segments are used", max_note_segments,
                                    max_note_segments + left_out_notes_));
  else if (wanted_note_size_ > max_note_bytes)
    problems_.push_back(fmt::format("only {} of {} of notes are used", megabytes(max_note_bytes),
                                    megabytes(wanted_note_size_)));
  for (const std::string& problem : notes_.problems) problems_.push_back(problem);
  if (!notes_.threads.empty()) return;
  if (!has_notes)
    problems_.push_back("no thread notes: the core has no note segment");
  else if (notes_.all.empty() && promised_size_ > bytes_.size())
    problems_.push_back(
        "no thread notes and no list of mapped files: gdb writes the notes last, and the file "
        "is cut before them");
  else
    problems_.push_back("no thread notes");
}

const ElfCore::Extent* ElfCore::extent_at(Address address) {
  std::uint32_t& recent = recent_extents_[(address >> recent_bits) % recent_extents_.size()];
  if (recent < extents_.size()) {
    const Extent& last = extents_[recent];
    if (address - last.begin < last.size) return &last;
  }
  const Extent* const found = search_extent(address);
  if (found != nullptr) recent = static_cast<std::uint32_t>(found - extents_.data());
  return found;
}

const ElfCore::Extent* ElfCore::search_extent(Address address) const {
  auto after = std::upper_bound(extents_.begin(), extents_.end(), address,
                                [](Address a, const Extent& extent) { return a < extent.begin; });
  if (after == extents_.begin()) return nullptr;
  --after;
  return address - after->begin < after->size ? &*after : nullptr;
}

template<typename Find>
std::size_t ElfCore::read_with(const Find& find, Address address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break; // past the end of the address space
    const Extent* extent = find(at);
    if (extent == nullptr) break;
    const std::uint64_t offset = at - extent->begin;
    const std::size_t size = std::min<std::uint64_t>(out.size() - done, extent->size - offset);
    const std::size_t got = bytes_.read_some(extent->file_offset + offset, out.subspan(done, size));
    done += got;
    if (got < size) break; // the file was cut meanwhile
  }
  return done;
}

std::size_t ElfCore::read_some(Address address, std::span<std::byte> out) {
  return read_with([this](Address at) { return extent_at(at); }, address, out);
}

std::optional<std::size_t> ElfCore::scan_together(Address address, std::span<std::byte> out) {
  return read_with([this](Address at) { return search_extent(at); }, address, out);
}

std::span<const std::byte> ElfCore::view(Address address, std::size_t size) {
  const Extent* extent = extent_at(address);
  if (extent == nullptr) return {};
  const std::uint64_t offset = address - extent->begin;
  if (size > extent->size - offset) return {};
  return bytes_.lend(extent->file_offset + offset, size);
}

const CoreSegment* ElfCore::segment_at(Address address) const {
  auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                [](Address a, const CoreSegment& segment) { return a < segment.begin; });
  if (after == segments_.begin()) return nullptr;
  --after;
  return address - after->begin < after->memory_size ? &*after : nullptr;
}

Address ElfCore::next_readable(Address address) const {
  auto after = std::upper_bound(extents_.begin(), extents_.end(), address,
                                [](Address a, const Extent& extent) { return a < extent.begin; });
  if (after != extents_.begin() && address - std::prev(after)->begin < std::prev(after)->size) return address;
  return after == extents_.end() ? ~Address{0} : after->begin;
}

std::vector<MemoryRange> ElfCore::readable_ranges() const {
  std::vector<MemoryRange> ranges;
  ranges.reserve(extents_.size());
  for (const Extent& extent : extents_) ranges.push_back({extent.begin, extent.size});
  return ranges;
}

} // namespace clr
