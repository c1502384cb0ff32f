#include "tests/support/elf_module_builder.h"

#include "tests/support/elf_core_builder.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace clr::test {
namespace {

std::uint32_t gnu_hash_of(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysv_hash_of(const std::string& name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf000'0000;
    if (high != 0) hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

unsigned machine_of(Cpu cpu) {
  switch (cpu) {
  case Cpu::x64:
    return 62;
  case Cpu::arm64:
    return 183;
  case Cpu::x86:
    return 3;
  case Cpu::arm:
    return 40;
  default:
    return 0;
  }
}

// R_*_RELATIVE and a relocation by symbol.
std::pair<unsigned, unsigned> types_of(Cpu cpu) {
  switch (cpu) {
  case Cpu::x64:
    return {8, 6};
  case Cpu::arm64:
    return {1027, 1025};
  case Cpu::x86:
    return {8, 6};
  default:
    return {23, 21};
  }
}

} // namespace

struct ElfModuleBuilder::Made {
  TargetBytes bytes;
  std::vector<std::size_t> pointer_entries; // offsets of the values of dynamic entries that are addresses
};

ElfModuleBuilder::Made ElfModuleBuilder::make() const {
  const bool wide = platform.pointer_size == 8;
  const std::size_t word = platform.pointer_size;
  TargetBytes out(platform);

  // Symbols in the order that the GNU hash wants: by bucket.
  constexpr std::uint32_t buckets = 3;
  auto sorted = symbols;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return gnu_hash_of(a.first) % buckets < gnu_hash_of(b.first) % buckets;
  });
  std::string strings(1, '\0');
  const auto intern = [&](const std::string& string) {
    const std::size_t at = strings.size();
    strings += string + '\0';
    return at;
  };
  const std::size_t soname_at = intern(soname), needed_at = intern("libc.so.6");
  const std::size_t undefined_at = intern("undefined_function");

  out.u8(0x7f).text("ELF").u8(wide ? 2 : 1).u8(platform.byte_order == ByteOrder::little ? 1 : 2).u8(1);
  out.pad_to(16).u16(3).u16(machine_of(platform.cpu)).u32(1).word(0x1234);
  out.word(wide ? 64 : 52).word(0).u32(0).u16(wide ? 64 : 52).u16(wide ? 56 : 32).u16(6).u16(0).u16(0).u16(0);
  const auto header = [&](unsigned type, unsigned flags, Address at, std::uint64_t file_size,
                          std::uint64_t memory_size, std::uint64_t align) {
    out.u32(type);
    if (wide) out.u32(flags);
    out.word(at).word(at).word(at).word(file_size).word(memory_size);
    if (!wide) out.u32(flags);
    out.word(align);
  };
  const std::size_t note_at = 0x200, note_size = 16 + build_id.size();
  header(1, 5, 0, text + text_size, text + text_size, 0x1000);
  header(1, 6, dynamic, 0x1000, 0x1000, 0x1000);
  header(1, 6, data, data_size, 0x1000, 0x1000);
  header(2, 6, dynamic, 0x400, 0x400, 8);
  header(4, 4, note_at, build_id.empty() ? 0 : note_size, build_id.empty() ? 0 : note_size, 4);
  header(0x6474e552, 4, dynamic, 0x1000, 0x1000, 1);

  out.pad_to(note_at);
  if (!build_id.empty())
    out.u32(4).u32(build_id.size()).u32(3).text("GNU", 4).append(std::as_bytes(std::span(build_id)));

  const std::size_t symbols_at = 0x300;
  out.pad_to(symbols_at);
  const auto symbol = [&](std::size_t name, Address value, unsigned section) {
    out.u32(name);
    if (wide) out.u8(0x11).u8(0).u16(section).word(value).word(40);
    if (!wide) out.word(value).word(40).u8(0x11).u8(0).u16(section);
  };
  symbol(0, 0, 0);
  symbol(undefined_at, 0, 0);
  for (const auto& [name, value] : sorted) symbol(intern(name), value, 5);
  constexpr std::size_t first_hashed = 2;
  const std::size_t count = first_hashed + sorted.size();
  const std::size_t strings_at = out.size();
  out.text(strings).align(8);

  const std::size_t gnu_at = out.size();
  out.u32(buckets).u32(first_hashed).u32(2).u32(5);
  std::array<std::uint64_t, 2> bloom{};
  const unsigned bits = static_cast<unsigned>(word) * 8;
  for (const auto& [name, value] : sorted) {
    const std::uint32_t hash = gnu_hash_of(name);
    bloom[hash / bits % 2] |= std::uint64_t{1} << (hash % bits) | std::uint64_t{1} << ((hash >> 5) % bits);
  }
  out.word(bloom[0]).word(bloom[1]);
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    std::size_t index = 0;
    for (std::size_t i = sorted.size(); i-- > 0;)
      if (gnu_hash_of(sorted[i].first) % buckets == bucket) index = first_hashed + i;
    out.u32(index);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::uint32_t hash = gnu_hash_of(sorted[i].first);
    const bool last = i + 1 == sorted.size() || gnu_hash_of(sorted[i + 1].first) % buckets != hash % buckets;
    out.u32((hash & ~1u) | (last ? 1 : 0));
  }
  out.align(8);

  const std::size_t hash_at = out.size();
  std::array<std::size_t, buckets> heads{};
  std::vector<std::size_t> chains(count);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::uint32_t bucket = sysv_hash_of(sorted[i].first) % buckets;
    chains[first_hashed + i] = heads[bucket];
    heads[bucket] = first_hashed + i;
  }
  out.u32(buckets).u32(count);
  for (const std::size_t head : heads) out.u32(head);
  for (const std::size_t next : chains) out.u32(next);
  out.align(8);

  const auto [relative, by_symbol] = types_of(platform.cpu);
  const std::size_t relocations_at = out.size();
  const auto info = [&](std::uint64_t index, unsigned type) {
    return wide ? index << 32 | type : index << 8 | type;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [kind, value] = words[i];
    if (kind == Word::plain || (kind == Word::relative && table == Table::relr)) continue;
    out.word(relocated + i * word).word(kind == Word::relative ? info(0, relative) : info(1, by_symbol));
    if (table != Table::rel) out.word(kind == Word::relative ? value : 0);
  }
  const std::size_t relocations_size = out.size() - relocations_at;
  const std::size_t relr_at = out.size();
  if (table == Table::relr) {
    // An address entry for the first relative word, bitmaps for the others.
    std::size_t next = words.size();
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i].first == Word::relative) {
        out.word(relocated + i * word);
        next = i + 1;
        break;
      }
    for (; next < words.size(); next += bits - 1) {
      std::uint64_t bitmap = 1;
      for (std::size_t i = 0; i + 1 < bits && next + i < words.size(); ++i)
        if (words[next + i].first == Word::relative) bitmap |= std::uint64_t{2} << i;
      out.word(bitmap);
    }
  }
  const std::size_t relr_size = out.size() - relr_at;

  if (out.size() > text) throw std::length_error("the tables of the module are too long");
  out.pad_to(text).append(pattern(text_size, 40)).pad_to(dynamic);
  Made made{std::move(out), {}};
  const auto entry = [&](std::uint64_t tag, std::uint64_t value, bool is_pointer) {
    made.bytes.word(tag);
    if (is_pointer) made.pointer_entries.push_back(made.bytes.size());
    made.bytes.word(value);
  };
  if (needed) entry(1, needed_at, false);
  entry(14, soname_at, false);
  entry(5, strings_at, true);
  entry(6, symbols_at, true);
  entry(10, strings.size(), false);
  entry(11, wide ? 24 : 16, false);
  if (gnu_hash) entry(0x6ffffef5, gnu_at, true);
  if (sysv_hash) entry(4, hash_at, true);
  if (relocations_size != 0) {
    entry(table == Table::rel ? 17 : 7, relocations_at, true);
    entry(table == Table::rel ? 18 : 8, relocations_size, false);
  }
  if (relr_size != 0) {
    entry(36, relr_at, true);
    entry(35, relr_size, false);
  }
  entry(21, 0, false); // DT_DEBUG
  entry(0, 0, false);

  made.bytes.pad_to(relocated);
  for (const auto& [kind, value] : words) {
    const bool in_place = kind == Word::plain || (kind == Word::relative && table != Table::rela);
    made.bytes.word(in_place ? value : 0);
  }
  made.bytes.pad_to(data).append(pattern(data_size, 90));
  return made;
}

std::vector<std::byte> ElfModuleBuilder::file() const {
  return make().bytes.bytes();
}

std::vector<std::byte> ElfModuleBuilder::loaded(Address base, bool rebases_dynamic) const {
  Made made = make();
  made.bytes.pad_to(data + 0x1000);
  const std::size_t word = platform.pointer_size;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [kind, value] = words[i];
    if (kind == Word::relative) made.bytes.patch(relocated + i * word, value + base, word);
    if (kind == Word::symbolic) made.bytes.patch(relocated + i * word, 0x5151'5151, word);
  }
  if (rebases_dynamic)
    for (const std::size_t at : made.pointer_entries) {
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < word; ++i) {
        const std::size_t from = platform.byte_order == ByteOrder::big ? i : word - 1 - i;
        value = value << 8 | std::to_integer<std::uint64_t>(made.bytes.bytes()[at + from]);
      }
      made.bytes.patch(at, value + base, word);
    }
  return made.bytes.bytes();
}

} // namespace clr::test
