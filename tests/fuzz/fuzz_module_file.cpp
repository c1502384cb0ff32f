// Any bytes as the file of a module that a core names, with mappings of it and what the core holds of them:
// whether it is the same file, and which of its bytes a debugger may take for those of the process.
//
// An input: the kind of file, the number of mappings, four bytes for each mapping (page in memory, pages,
// page in the file, flags), the file.
#include "core/memory/elf_core.h"
#include "core/memory/module_file.h"
#include "tests/fuzz/attempt.h"
#include "tests/support/elf_core_builder.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

using namespace clr;
using namespace clr::fuzz;

namespace {

constexpr Address base = 0x7000'0000;
constexpr std::size_t head_bytes = 2, mapping_bytes = 4, most_mappings = 8;

enum FileFlag : unsigned { is_elf = 1, is_bundle = 2 };
enum MappingFlag : unsigned { writable = 1, held = 2, altered = 4, relocated = 8 };

struct Mapped {
  FileMapping mapping;
  unsigned flags = 0;
};

// What a loader makes of `bytes`, those of the file behind a mapping.
using Relocate = std::function<void(const FileMapping& mapping, std::span<std::byte> bytes)>;

std::vector<std::byte> core_bytes(std::span<const std::byte> file, const std::vector<Mapped>& all,
                                  const Relocate& relocate) {
  test::ElfCoreBuilder core({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  std::vector<FileMapping> mappings;
  for (const auto& [mapping, flags] : all) {
    mappings.push_back(mapping);
    std::vector<std::byte> bytes(mapping.end - mapping.begin);
    const auto begin = std::min<std::size_t>(mapping.file_offset, file.size());
    std::ranges::copy(file.subspan(begin, std::min(bytes.size(), file.size() - begin)), bytes.begin());
    if ((flags & relocated) != 0) relocate(mapping, bytes);
    if ((flags & altered) != 0) bytes[bytes.size() / 3] ^= std::byte{1};
    if ((flags & held) == 0) bytes.clear();
    core.segment(mapping.begin, bytes, mapping.end - mapping.begin, (flags & writable) != 0 ? 6 : 5);
  }
  return core.files(mappings).build();
}

// The mappings in the order of their addresses, as places.
std::vector<FilePlace> places_of(const ElfCore& core, const std::vector<Mapped>& all) {
  std::vector<FilePlace> places;
  for (const FileMapping& mapping : core.file_mappings()) {
    FilePlace place{.mapping = &mapping, .base = 0, .address = mapping.begin, .mapped_writable = false};
    for (const auto& [other, flags] : all) {
      if (other.file_offset == 0 && other.begin <= mapping.begin)
        place.base = std::max(place.base, other.begin);
      if (other.begin == mapping.begin) place.mapped_writable = (flags & writable) != 0;
    }
    places.push_back(place);
  }
  std::ranges::sort(places, {}, &FilePlace::address);
  return places;
}

void ask(ModuleFile& module, std::span<const std::byte> bytes_of_core, const std::vector<Mapped>& all) {
  ElfCore core(bytes_of_core);
  const std::vector<FilePlace> places = places_of(core, all);
  if (const auto layout = module.layout(places); layout.strange.size() > places.size()) __builtin_trap();
  const FileProof proof = module.identify(core, places);
  if (proof.verdict != FileProof::Verdict::unknown && proof.text.empty()) __builtin_trap();
  std::vector<std::byte> out(2 * ModuleFile::page);
  for (const FilePlace& place : places)
    for (Address at = place.address; at < place.mapping->end; at += 0x678) {
      const FilePlace here = place.at(at);
      const bool covered = module.covers(here);
      const std::size_t got = module.read(here, out);
      if (got > out.size() || (got != 0 && !covered)) __builtin_trap();
      const auto lent = module.lend(here, 64);
      // What is lent is what is read.
      if (got >= lent.bytes.size() && !std::equal(lent.bytes.begin(), lent.bytes.end(), out.begin()))
        __builtin_trap();
    }
}

void ask_elf(std::span<const std::byte> bytes, const std::vector<Mapped>& all) {
  ElfFile file(bytes);
  ElfModuleFile module(file);
  const auto relocate = [&](const FileMapping& mapping, std::span<std::byte> there) {
    attempt([&] {
      for (const ElfFile::RelativeWord& word : file.relative_words()) {
        const ElfSegment* segment = file.segment_at(word.address);
        if (segment == nullptr) continue;
        const std::uint64_t at =
            segment->file_offset + (word.address - segment->address) - mapping.file_offset;
        const std::uint64_t value = word.addend + base;
        const std::size_t size = file.platform().pointer_size;
        if (at < there.size() && there.size() - at >= size) std::memcpy(there.data() + at, &value, size);
      }
    });
  };
  ask(module, core_bytes(bytes, all, relocate), all);
}

void ask_pe(std::span<const std::byte> bytes, bool bundled, const std::vector<Mapped>& all) {
  const auto bundle = bundled ? SingleFileBundle::parse(bytes) : std::nullopt;
  PartialFile parts(bytes);
  PeModuleFile module(parts, bundle ? &*bundle : nullptr);
  const auto layout = PeLayout::parse(bytes);
  const auto relocate = [&](const FileMapping& mapping, std::span<std::byte> there) {
    if (!layout) return;
    for (const PeSection& section : layout->sections) {
      for (auto word = layout->first_relocation(section.rva);
           word != layout->relocations.end() && word->address - section.rva < section.raw_size; ++word) {
        const std::uint64_t at = section.raw_offset + (word->address - section.rva) - mapping.file_offset;
        if (at >= there.size() || there.size() - at < word->size) continue;
        std::uint64_t value = 0;
        std::memcpy(&value, there.data() + at, word->size);
        value += base - layout->preferred_base;
        std::memcpy(there.data() + at, &value, word->size);
      }
    }
  };
  ask(module, core_bytes(bytes, all, relocate), all);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < head_bytes) return 0;
  const std::size_t count = data[1] % (most_mappings + 1);
  if (size < head_bytes + count * mapping_bytes) return 0;
  std::vector<Mapped> all;
  std::array<bool, 256> taken{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* record = data + head_bytes + i * mapping_bytes;
    const Address begin = base + record[0] * ModuleFile::page;
    const Address pages = std::max(1, record[1] % 16);
    // Mappings do not overlap, as the system makes them.
    bool free = true;
    for (Address page = record[0]; page < record[0] + pages && page < taken.size(); ++page) {
      free = free && !taken[page];
      taken[page] = true;
    }
    if (!free) continue;
    all.push_back({.mapping = {begin, begin + pages * ModuleFile::page, record[2] * ModuleFile::page, "/f"},
                   .flags = record[3]});
  }
  const auto file = std::as_bytes(std::span(data, size)).subspan(head_bytes + count * mapping_bytes);
  std::vector<std::byte> bytes(file.begin(), file.end());
  if ((data[0] & is_elf) != 0 && bytes.size() > EI_DATA) std::memcpy(bytes.data(), ELFMAG, SELFMAG);
  attempt([&] {
    if ((data[0] & is_elf) != 0)
      ask_elf(bytes, all);
    else
      ask_pe(bytes, (data[0] & is_bundle) != 0, all);
  });
  return 0;
}
