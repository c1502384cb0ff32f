#include "core/memory/elf_file.h"

#include "core/memory/elf_image.h"
#include "core/memory/elf_records.h"
#include "core/memory/elf_relocations.h"
#include "core/memory/recording_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {

// The file's segments at the addresses that the linker gave them.
class ElfFile::LinkedMemory final : public MemoryReader {
public:
  explicit LinkedMemory(const ElfFile& file) : file_(file) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const ElfSegment* segment = file_.segment_at(address);
    if (segment == nullptr) return 0;
    const std::uint64_t offset = address - segment->address;
    if (offset >= segment->file_size) return 0;
    const auto part =
        file_.file_bytes(address, std::min<std::uint64_t>(out.size(), segment->file_size - offset));
    std::copy(part.begin(), part.end(), out.begin());
    return part.size();
  }

private:
  const ElfFile& file_;
};

struct ElfFile::Relocations {
  ElfRelocations tables;
  std::vector<MemoryRange> unknown; // the words of the tables and the words that the loader writes
};

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path, NamedBy named_by) {
  return std::make_unique<ElfFile>(LoadedFile::open(path, named_by));
}

ElfFile::ElfFile(LoadedFile file) : file_(std::move(file)), bytes_(file_.bytes()) {
  parse();
}

ElfFile::ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  parse();
}

ElfFile::~ElfFile() = default;

void ElfFile::parse() {
  const auto fail = [&](std::string_view why) {
    throw Error(ErrorKind::corrupt, fmt::format("{} {}", path().empty() ? "the file" : path(), why));
  };
  const auto format = elf_format(bytes_);
  if (!format) fail("is not an ELF file");
  if (bytes_.size() < format->header_size()) fail("is cut inside its ELF header");
  const GElf_Ehdr header = decode_elf_header(bytes_, *format);
  platform_ = elf_platform(*format, header);
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) fail("is not an ELF module");
  if (header.e_phnum > ElfImage::max_segments)
    fail(fmt::format("has more than {} program headers", ElfImage::max_segments));
  const std::uint64_t table_size = std::uint64_t{header.e_phnum} * header.e_phentsize;
  if (header.e_phentsize < format->segment_size() || header.e_phoff > bytes_.size() ||
      table_size > bytes_.size() - header.e_phoff)
    fail("has program headers outside the file");

  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const GElf_Phdr raw = decode_segment(bytes_.subspan(header.e_phoff + i * header.e_phentsize), *format);
    ElfSegment segment = to_elf_segment(raw);
    // Bytes beyond the end of the file are missing.
    const std::uint64_t there =
        segment.file_offset < bytes_.size() ? bytes_.size() - segment.file_offset : std::uint64_t{0};
    segment.file_size = std::min({segment.file_size, segment.memory_size, there});
    if (segment.memory_size > platform_.wrap(~Address{0}) - segment.address)
      fail("has a segment that leaves the address space");
    segments_.push_back(segment);
    if (segment.type == PT_NOTE && build_id_.empty() && segment.file_size != 0)
      build_id_ = find_build_id(
          bytes_.subspan(segment.file_offset, std::min(segment.file_size, ElfImage::max_notes_size)),
          platform_.byte_order, segment.alignment);
  }
  for (const ElfSegment& segment : segments_)
    if (segment.type == PT_LOAD && segment.memory_size != 0) loads_.push_back(&segment);
  std::ranges::stable_sort(loads_, {}, &ElfSegment::address);
  linked_ = std::make_unique<LinkedMemory>(*this);
}

const ElfSegment* ElfFile::segment_of_offset(std::uint64_t file_offset, std::uint64_t page) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || segment.file_size == 0) continue;
    const std::uint64_t begin = segment.file_offset / page * page;
    const std::uint64_t end = (segment.file_offset + segment.file_size + page - 1) / page * page;
    if (file_offset >= begin && file_offset < end) return &segment;
  }
  return nullptr;
}

const ElfSegment* ElfFile::segment_at(Address address) const {
  const auto after = std::ranges::upper_bound(loads_, address, {}, &ElfSegment::address);
  if (after == loads_.begin()) return nullptr;
  const ElfSegment* segment = *std::prev(after);
  return address - segment->address < segment->memory_size ? segment : nullptr;
}

MemoryRange ElfFile::relro() const {
  for (const ElfSegment& segment : segments_)
    if (segment.type == PT_GNU_RELRO) return {segment.address, segment.memory_size};
  return {};
}

std::span<const std::byte> ElfFile::file_bytes(Address address, std::uint64_t size) const {
  const ElfSegment* segment = segment_at(address);
  if (segment == nullptr) return {};
  const std::uint64_t offset = address - segment->address;
  if (offset > segment->file_size || size > segment->file_size - offset) return {};
  return bytes_.subspan(segment->file_offset + offset, size);
}

const ElfDynamic& ElfFile::dynamic() {
  if (!dynamic_) {
    dynamic_.emplace();
    for (const ElfSegment& segment : segments_) {
      if (segment.type != PT_DYNAMIC) continue;
      // Bias 0: the addresses in the file are those of the linker.
      dynamic_.emplace(*linked_, platform_, 0, MemoryRange{},
                       MemoryRange{segment.address, segment.memory_size});
      break;
    }
  }
  return *dynamic_;
}

ElfFile::Relocations& ElfFile::relocations() {
  if (wrong_relocations_) throw Error(*wrong_relocations_);
  if (!relocations_) {
    auto made = std::make_unique<Relocations>();
    try {
      const std::size_t words = bytes_.size() / platform_.pointer_size;
      made->tables = read_relocations(*linked_, platform_, dynamic(), std::min(words, max_relocations));
    } catch (const Error& error) {
      wrong_relocations_ = error;
      throw;
    }
    made->unknown = made->tables.unknown;
    for (const ElfSegment& segment : segments_)
      if (segment.type == PT_DYNAMIC) made->unknown.push_back({segment.address, segment.memory_size});
    made->unknown = merge_ranges(std::move(made->unknown));
    relocations_ = std::move(made);
  }
  return *relocations_;
}

const std::vector<ElfFile::RelativeWord>& ElfFile::relative_words() {
  return relocations().tables.relative;
}

std::size_t ElfFile::read_loaded(Address address, Address bias, std::span<std::byte> out) {
  std::size_t size = linked_->read_some(address, out);
  const Relocations& known = relocations();

  const auto& unknown = known.unknown;
  auto next = std::upper_bound(unknown.begin(), unknown.end(), address,
                               [](Address a, const MemoryRange& range) { return a < range.begin; });
  if (next != unknown.begin() && std::prev(next)->contains(address)) return 0;
  if (next != unknown.end() && next->begin - address < size) size = next->begin - address;

  const auto& words = known.tables.relative;
  const unsigned word_size = platform_.pointer_size;
  // A word that begins before `address` may reach into the range.
  const Address from = address < word_size ? 0 : address - (word_size - 1);
  auto word = std::lower_bound(words.begin(), words.end(), from,
                               [](const RelativeWord& w, Address a) { return w.address < a; });
  for (; word != words.end() && (word->address < address || word->address - address < size); ++word) {
    const std::uint64_t value = platform_.wrap(word->addend + bias);
    for (unsigned i = 0; i < word_size; ++i) {
      const Address at = word->address + i;
      if (at < address || at - address >= size) continue;
      const unsigned shift = platform_.byte_order == ByteOrder::little ? i : word_size - 1 - i;
      out[at - address] = static_cast<std::byte>(value >> (8 * shift));
    }
  }
  return size;
}

std::optional<ElfSymbol> ElfFile::find_symbol(std::string_view name) {
  return dynamic().find_symbol(name);
}

std::string ElfFile::soname() {
  return dynamic().soname();
}

bool ElfFile::needs_libraries() {
  return dynamic().value(DT_NEEDED).has_value();
}

bool ElfFile::has_text_relocations() {
  constexpr std::uint64_t text_flag = 4; // DF_TEXTREL
  return dynamic().value(DT_TEXTREL).has_value() || (dynamic().value(DT_FLAGS).value_or(0) & text_flag) != 0;
}

} // namespace clr
