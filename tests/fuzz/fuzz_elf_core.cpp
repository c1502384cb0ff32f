// Any bytes as a core, as a module's file and as a module in memory: a clear refusal or an answer, never a
// crash.
#include "core/memory/byte_range.h"
#include "core/memory/elf_core.h"
#include "core/memory/elf_file.h"
#include "core/memory/elf_image.h"
#include "core/memory/module_list.h"
#include "core/memory/pe_layout.h"
#include "core/memory/single_file_bundle.h"
#include "core/stack/elf_symbols.h"
#include "core/target/descriptor_locator.h"
#include "tests/fuzz/attempt.h"

#include <cstdint>
#include <vector>

namespace {

void read_core(std::span<const std::byte> bytes) {
  clr::ElfCore core(bytes);
  std::vector<std::byte> out(4096);
  std::size_t left = 64;
  for (const clr::MemoryRange& range : core.readable_ranges()) {
    if (left-- == 0) break;
    if (core.read_some(range.begin, out) == 0) __builtin_trap(); // what is called readable is
    core.view(range.begin, 1);
  }
  for (const clr::FileMapping& mapping : core.file_mappings()) core.read_some(mapping.begin, out);
  for (const clr::Address at : {clr::Address{0}, clr::Address{0x40'0010}, ~clr::Address{0}})
    core.next_readable(at);
  clr::list_modules(core, static_cast<clr::MemoryReader&>(core));
}

void read_module(std::span<const std::byte> bytes) {
  clr::ElfFile file(bytes);
  std::vector<std::byte> out(4096);
  // From the beginning, and from words that relocation moved: what stands before these may not be known.
  for (const clr::ElfSegment& segment : file.segments())
    for (const unsigned offset : {0u, 0x800u, 0x803u})
      file.read_loaded(segment.address + offset, 0x7000'0000, out);
  file.find_symbol("DotNetRuntimeContractDescriptor");
  for (const std::uint64_t offset : {0u, 0x1000u, 0x3000u}) file.segment_of_offset(offset);
  file.soname();
  file.needs_libraries();
  file.has_text_relocations();
  file.relative_words();
  file.relro();
}

void read_mapped(std::span<const std::byte> bytes) {
  constexpr clr::Address base = 0x7000'0000;
  clr::HostMemory memory(bytes, base);
  clr::ElfImage image(memory, base);
  for (const clr::ElfSegment& segment : image.segments()) image.range_of(segment);
  image.build_id();
  image.find_symbol("DotNetRuntimeContractDescriptor");
  clr::ElfSymbols::of_memory(memory, image).find(base + 0x100);
}

// The same module as the runtime of a process, by its name, by what it exports, and by symbols that a
// debugger knows of it.
void find_runtime(std::span<const std::byte> bytes) {
  constexpr clr::Address base = 0x7000'0000;
  clr::HostMemory memory(bytes, base);
  for (const char* const path : {"/fx/libcoreclr.so", "/opt/program", "/usr/lib/libmonosgen-2.0.so"})
    for (const std::optional<clr::Address> descriptor : {std::optional<clr::Address>(), {base + 0x3800}})
      clr::locate_runtimes(memory,
                           {{.path = path,
                             .base = base,
                             .size = bytes.size(),
                             .build_id = {},
                             .contract_descriptor = descriptor}},
                           clr::Cpu::x64);
}

// Names that the table owns are those that it had of the file.
void read_symbols(std::span<const std::byte> bytes) {
  const clr::ElfSymbols borrowed = clr::ElfSymbols::of_file(bytes);
  clr::ElfSymbols owning = clr::ElfSymbols::of_file(bytes);
  owning.own_names();
  if (owning.empty() != borrowed.empty()) __builtin_trap();
  for (clr::Address address = 0x1000; address < 0x1200; address += 4) {
    const auto one = borrowed.find(address), other = owning.find(address);
    if (one.has_value() != other.has_value()) __builtin_trap();
    if (one && (one->address != other->address || one->name != other->name)) __builtin_trap();
  }
}

void read_layout(std::span<const std::byte> bytes) {
  const auto layout = clr::PeLayout::parse(bytes);
  if (!layout) return;
  layout->section_of_offset(0x400);
  for (const std::uint32_t address : {0u, 0x1000u, 0x2080u}) {
    layout->constant_end(address);
    layout->first_relocation(address);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  clr::fuzz::attempt([&] { read_core(bytes); });
  clr::fuzz::attempt([&] { read_module(bytes); });
  clr::fuzz::attempt([&] { read_mapped(bytes); });
  find_runtime(bytes);
  read_symbols(bytes);
  read_layout(bytes);
  if (const auto bundle = clr::SingleFileBundle::parse(bytes))
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{size / 2}, std::uint64_t{size}})
      bundle->entry_at(offset);
  return 0;
}
