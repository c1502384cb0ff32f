#include "tests/support/elf_core_builder.h"

#include <array>

namespace clr::test {

TargetBytes& TargetBytes::integer(std::uint64_t value, std::size_t size) {
  bytes_.resize(bytes_.size() + size);
  patch(bytes_.size() - size, value, size);
  return *this;
}

void TargetBytes::patch(std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t shift = platform_.byte_order == ByteOrder::little ? i : size - 1 - i;
    bytes_.at(at + i) = static_cast<std::byte>(value >> (8 * shift));
  }
}

TargetBytes& TargetBytes::text(std::string_view text, std::size_t padded_to) {
  const std::size_t begin = bytes_.size();
  append(std::as_bytes(std::span(text)));
  if (padded_to != 0) bytes_.resize(begin + padded_to);
  return *this;
}

TargetBytes& TargetBytes::append(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

TargetBytes& TargetBytes::pad_to(std::size_t size) {
  if (bytes_.size() < size) bytes_.resize(size);
  return *this;
}

TargetBytes& TargetBytes::align(std::size_t unit) {
  return pad_to((bytes_.size() + unit - 1) / unit * unit);
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((seed + i) % 251);
  return bytes;
}

ElfCoreBuilder& ElfCoreBuilder::segment(Address begin, std::vector<std::byte> bytes,
                                        std::uint64_t memory_size, unsigned flags,
                                        std::uint64_t claimed_size) {
  const std::uint64_t size = memory_size != 0 ? memory_size : bytes.size();
  segments_.push_back({begin, std::move(bytes), size, flags, claimed_size});
  return *this;
}

ElfCoreBuilder& ElfCoreBuilder::note(std::string_view owner, std::uint32_t type,
                                     std::vector<std::byte> description) {
  TargetBytes out(platform_);
  out.u32(owner.size() + 1).u32(description.size()).u32(type).text(owner).u8(0).align(4);
  out.append(description).align(4);
  notes_.insert(notes_.end(), out.bytes().begin(), out.bytes().end());
  return *this;
}

ElfCoreBuilder& ElfCoreBuilder::thread(std::uint32_t id, unsigned signal,
                                       const std::vector<std::uint64_t>& registers) {
  const bool wide = platform_.pointer_size == 8;
  TargetBytes out(platform_);
  out.u32(signal).u32(0).u32(0).u16(signal).pad_to(wide ? 32 : 24).u32(id).pad_to(wide ? 112 : 72);
  if (platform_.cpu == Cpu::x64) {
    // r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip, by DWARF numbers; orig_rax: 99.
    constexpr std::array<unsigned, 17> order{15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, 99, 16};
    for (const unsigned number : order) out.word(number == 99 ? ~std::uint64_t{0} : registers.at(number));
    out.word(0x33).word(0x246).word(registers.at(7)); // cs, eflags, rsp
    for (int i = 0; i < 7; ++i) out.word(0);          // ss, fs_base, gs_base, ds, es, fs, gs
  } else {
    for (const std::uint64_t value : registers) out.word(value);
  }
  out.u32(0).align(8); // pr_fpvalid
  return note("CORE", 1, out.bytes());
}

ElfCoreBuilder& ElfCoreBuilder::process(std::uint32_t id, std::string_view name, std::string_view arguments) {
  const bool wide = platform_.pointer_size == 8;
  TargetBytes out(platform_);
  out.pad_to(wide ? 24 : 12).u32(id).pad_to(wide ? 40 : 28).text(name, 16).text(arguments, 80);
  return note("CORE", 3, out.bytes());
}

ElfCoreBuilder& ElfCoreBuilder::auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs) {
  TargetBytes out(platform_);
  for (const auto& [key, value] : pairs) out.word(key).word(value);
  out.word(0).word(0);
  return note("CORE", 6, out.bytes());
}

ElfCoreBuilder& ElfCoreBuilder::files(const std::vector<FileMapping>& mappings, std::uint64_t page) {
  TargetBytes out(platform_);
  out.word(mappings.size()).word(page);
  for (const FileMapping& mapping : mappings)
    out.word(mapping.begin).word(mapping.end).word(mapping.file_offset / page);
  for (const FileMapping& mapping : mappings) out.text(mapping.path).u8(0);
  return note("CORE", 0x46494c45, out.bytes());
}

ElfCoreBuilder& ElfCoreBuilder::signal(int number, int code, Address address) {
  TargetBytes out(platform_);
  out.u32(static_cast<std::uint32_t>(number)).u32(0).u32(static_cast<std::uint32_t>(code));
  out.pad_to(platform_.pointer_size == 8 ? 16 : 12).word(address).pad_to(128);
  return note("CORE", 0x53494749, out.bytes());
}

ElfCoreBuilder& ElfCoreBuilder::notes_last() {
  notes_last_ = true;
  return *this;
}

ElfCoreBuilder& ElfCoreBuilder::extended_count() {
  extended_count_ = true;
  return *this;
}

std::vector<std::byte> ElfCoreBuilder::build() const {
  const bool wide = platform_.pointer_size == 8;
  const std::size_t header_size = wide ? 64 : 52, segment_size = wide ? 56 : 32,
                    section_size = wide ? 64 : 40;
  const std::size_t count = segments_.size() + (notes_.empty() ? 0 : 1);

  std::uint64_t at = header_size + count * segment_size;
  const std::uint64_t notes_before = at;
  if (!notes_last_) at += notes_.size();
  std::vector<std::uint64_t> offsets;
  for (const Segment& segment : segments_) {
    offsets.push_back(at);
    at += segment.bytes.size();
  }
  const std::uint64_t notes_at = notes_last_ ? at : notes_before;
  if (notes_last_) at += notes_.size();
  const std::uint64_t sections_at = extended_count_ ? at : 0;

  unsigned machine = 0;
  if (platform_.cpu == Cpu::x64) machine = 62;
  if (platform_.cpu == Cpu::arm64) machine = 183;
  if (platform_.cpu == Cpu::x86) machine = 3;
  if (platform_.cpu == Cpu::arm) machine = 40;
  TargetBytes out(platform_);
  out.u8(0x7f).text("ELF").u8(wide ? 2 : 1).u8(platform_.byte_order == ByteOrder::little ? 1 : 2).u8(1);
  out.pad_to(16).u16(4).u16(machine).u32(1).word(0).word(header_size).word(sections_at).u32(0);
  out.u16(header_size).u16(segment_size).u16(extended_count_ ? 0xffff : count);
  out.u16(section_size).u16(extended_count_ ? 1 : 0).u16(0);

  const auto put = [&](unsigned type, unsigned flags, std::uint64_t offset, Address begin,
                       std::uint64_t file_size, std::uint64_t memory_size) {
    out.u32(type);
    if (wide) out.u32(flags);
    out.word(offset).word(begin).word(0).word(file_size).word(memory_size);
    if (!wide) out.u32(flags);
    out.word(type == 4 ? 4 : 4096);
  };
  if (!notes_.empty()) put(4, 0, notes_at, 0, notes_.size(), 0);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    put(1, segment.flags, offsets[i], segment.begin,
        segment.claimed_size != 0 ? segment.claimed_size : segment.bytes.size(), segment.memory_size);
  }
  if (!notes_last_) out.append(notes_);
  for (const Segment& segment : segments_) out.append(segment.bytes);
  if (notes_last_) out.append(notes_);
  if (extended_count_) {
    const std::size_t begin = out.size();
    out.pad_to(begin + section_size);
    out.patch(begin + (wide ? 44 : 28), count, 4); // sh_info
  }
  return out.bytes();
}

} // namespace clr::test
