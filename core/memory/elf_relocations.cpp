#include "core/memory/elf_relocations.h"

#include "core/memory/cpu_table.h"
#include "core/memory/elf_records.h"
#include "core/memory/recording_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

#ifndef DT_RELR // elf.h of glibc before 2.36
constexpr std::uint64_t DT_RELRSZ = 35, DT_RELR = 36;
#endif

constexpr unsigned type_none = 0; // on every CPU

class Reader {
public:
  Reader(MemoryReader& memory, Platform platform, const ElfDynamic& dynamic, const ElfRelocationTypes& types,
         std::size_t most)
      : memory_(memory), platform_(platform), format_{platform.pointer_size == 8, platform.byte_order},
        dynamic_(dynamic), types_(types), most_(most) {}

  ElfRelocations read() {
    table(DT_RELA, DT_RELASZ, true);
    table(DT_REL, DT_RELSZ, false);
    table(DT_JMPREL, DT_PLTRELSZ, dynamic_.value(DT_PLTREL) == std::uint64_t{DT_RELA});
    compact_table();
    // The loader keeps its own address and the link map in words 1 and 2 of a lazy GOT.
    if (const auto got = dynamic_.address(DT_PLTGOT)) unknown(*got, 3 * platform_.pointer_size);

    std::sort(out_.relative.begin(), out_.relative.end(),
              [](const auto& a, const auto& b) { return a.address < b.address; });
    out_.unknown = merge_ranges(std::move(out_.unknown));
    return std::move(out_);
  }

private:
  std::vector<std::byte> bytes_of(std::uint64_t address_tag, std::uint64_t size_tag, std::size_t record) {
    const auto address = dynamic_.address(address_tag);
    const auto size = dynamic_.value(size_tag);
    if (!address || !size) return {};
    if (*size / record > most_) throw_corrupt(*address, "too many relocations");
    std::vector<std::byte> bytes(*size / record * record);
    memory_.read(*address, bytes);
    return bytes;
  }

  void table(std::uint64_t address_tag, std::uint64_t size_tag, bool with_addend) {
    const std::size_t record = with_addend ? format_.rela_size() : format_.rel_size();
    const auto bytes = bytes_of(address_tag, size_tag, record);
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      const auto raw = std::span(bytes).subspan(at);
      const GElf_Rela entry = with_addend ? decode_rela(raw, format_) : decode_rel(raw, format_);
      const auto type = static_cast<unsigned>(GELF_R_TYPE(entry.r_info));
      if (type == type_none) continue;
      if (type == types_.relative || type == types_.relative64)
        relative(entry.r_offset,
                 with_addend ? static_cast<std::uint64_t>(entry.r_addend) : word(entry.r_offset));
      else if (type == types_.copy)
        unknown(entry.r_offset, symbol_size(GELF_R_SYM(entry.r_info)));
      else if (type == types_.tls_descriptor)
        unknown(entry.r_offset, 2 * platform_.pointer_size);
      else
        unknown(entry.r_offset, platform_.pointer_size);
    }
  }

  // DT_RELR: an even entry is the address of a word, and the words behind it are described by bitmaps (odd
  // entries). Bit n + 1 of a bitmap stands for the n-th word from there.
  void compact_table() {
    const unsigned size = platform_.pointer_size;
    const auto bytes = bytes_of(DT_RELR, DT_RELRSZ, size);
    Address next = 0;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      const std::uint64_t entry = decode_word(std::span(bytes).subspan(at), format_);
      if ((entry & 1) == 0) {
        relative(entry, word(entry));
        next = entry + size;
        continue;
      }
      const unsigned bits = 8 * size - 1;
      for (unsigned bit = 0; bit < bits; ++bit)
        if ((entry >> (bit + 1) & 1) != 0) relative(next + bit * size, word(next + bit * size));
      next += std::uint64_t{bits} * size;
    }
  }

  void count(Address at) {
    if (out_.relative.size() + out_.unknown.size() == most_) throw_corrupt(at, "too many relocations");
  }

  void relative(Address at, std::uint64_t addend) {
    count(at);
    out_.relative.push_back({at, addend});
  }

  void unknown(Address at, std::uint64_t size) {
    count(at);
    if (size > ~at) throw_corrupt(at, "a relocation that leaves the address space");
    out_.unknown.push_back({at, size});
  }

  std::uint64_t word(Address at) {
    std::byte raw[8];
    const auto bytes = std::span(raw).first(platform_.pointer_size);
    memory_.read(at, bytes);
    return decode_word(bytes, format_);
  }

  std::uint64_t symbol_size(std::uint64_t index) {
    const auto symbols = dynamic_.address(DT_SYMTAB);
    if (!symbols || index > ElfDynamic::max_symbols) throw_corrupt(0, "a relocation without a symbol");
    std::byte raw[sizeof(Elf64_Sym)];
    const auto bytes = std::span(raw).first(format_.symbol_size());
    memory_.read(*symbols + index * format_.symbol_size(), bytes);
    return decode_symbol(bytes, format_).st_size;
  }

  MemoryReader& memory_;
  Platform platform_;
  ElfFormat format_;
  const ElfDynamic& dynamic_;
  const ElfRelocationTypes& types_;
  std::size_t most_;
  ElfRelocations out_;
};

} // namespace

ElfRelocations read_relocations(MemoryReader& memory, Platform platform, const ElfDynamic& dynamic,
                                std::size_t most) {
  const ElfRelocationTypes& types = cpu_row(platform.cpu).relocations;
  if (types.relative == 0)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("relocations of CPU {} are not known", to_string(platform.cpu)));
  return Reader(memory, platform, dynamic, types, most).read();
}

} // namespace clr
