#include "core/memory/elf_dynamic.h"

#include "core/memory/elf_records.h"

#include <algorithm>

namespace clr {
namespace {

ElfFormat format_of(Platform platform) {
  return {platform.pointer_size == 8, platform.byte_order};
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fff'ffff;
  }
  return hash;
}

} // namespace

ElfDynamic::ElfDynamic(MemoryReader& memory, Platform platform, Address bias, MemoryRange module,
                       MemoryRange dynamic)
    : memory_(&memory), platform_(platform), bias_(bias), module_(module) {
  const ElfFormat format = format_of(platform);
  const std::uint64_t count = dynamic.size / format.dynamic_size();
  if (count > max_entries) throw_corrupt(dynamic.begin, "a dynamic section with too many entries");
  std::vector<std::byte> bytes(count * format.dynamic_size());
  memory.read(dynamic.begin, bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const GElf_Dyn entry = decode_dynamic(std::span(bytes).subspan(i * format.dynamic_size()), format);
    if (entry.d_tag == DT_NULL) break;
    entries_.push_back({static_cast<std::uint64_t>(entry.d_tag), entry.d_un.d_val});
  }
}

std::optional<std::uint64_t> ElfDynamic::value(std::uint64_t tag) const {
  for (const Entry& entry : entries_)
    if (entry.tag == tag) return entry.value;
  return std::nullopt;
}

std::optional<Address> ElfDynamic::address(std::uint64_t tag) const {
  const auto found = value(tag);
  if (!found || *found == 0) return std::nullopt;
  return module_.contains(*found) ? *found : platform_.wrap(*found + bias_);
}

template<typename T>
T ElfDynamic::read(Address at) const {
  std::byte bytes[sizeof(T)];
  memory_->read(platform_.wrap(at), bytes);
  return load<T>(bytes, platform_.byte_order);
}

std::uint64_t ElfDynamic::read_word(Address at) const {
  return platform_.pointer_size == 8 ? read<std::uint64_t>(at) : read<std::uint32_t>(at);
}

std::optional<ElfSymbol> ElfDynamic::find_symbol(std::string_view name) const {
  if (!address(DT_SYMTAB) || !address(DT_STRTAB) || name.empty() || name.size() > max_name)
    return std::nullopt;
  // When a hash table cannot be read or contradicts itself, the next way is tried. The answer of a valid
  // table is final.
  try {
    if (const auto table = address(DT_GNU_HASH)) return by_gnu_hash(*table, name);
  } catch (const Error&) {
  }
  try {
    if (const auto table = address(DT_HASH)) return by_hash(*table, name);
  } catch (const Error&) {
  }
  return by_scan(name);
}

std::optional<ElfSymbol> ElfDynamic::by_gnu_hash(Address table, std::string_view name) const {
  std::byte header[16];
  memory_->read(table, header);
  const auto field = [&](std::size_t i) {
    return load<std::uint32_t>(std::span(header).subspan(4 * i), platform_.byte_order);
  };
  const std::uint32_t buckets = field(0), first = field(1), bloom_words = field(2), shift = field(3);
  if (buckets == 0 || bloom_words == 0 || shift > 31)
    throw_corrupt(table, "a GNU hash table without buckets");
  const std::uint32_t hash = gnu_hash(name);

  const unsigned bits = platform_.pointer_size * 8;
  const Address bloom = table + sizeof header;
  const std::uint64_t word =
      read_word(bloom + std::uint64_t{hash / bits % bloom_words} * platform_.pointer_size);
  if ((word >> (hash % bits) & word >> ((hash >> shift) % bits) & 1) == 0) return std::nullopt;

  const Address bucket = bloom + std::uint64_t{bloom_words} * platform_.pointer_size;
  const Address chain = bucket + std::uint64_t{buckets} * 4;
  std::uint64_t index = read<std::uint32_t>(bucket + std::uint64_t{hash % buckets} * 4);
  if (index == 0) return std::nullopt;
  if (index < first) throw_corrupt(bucket, "a GNU hash bucket below its first symbol");
  for (std::uint64_t step = 0; step < max_chain; ++step, ++index) {
    const auto entry = read<std::uint32_t>(chain + (index - first) * 4);
    if ((entry | 1) == (hash | 1)) {
      const Match found = match(index, name);
      if (found.name_equal) return found.symbol;
    }
    if ((entry & 1) != 0) return std::nullopt;
  }
  throw_corrupt(chain, "a GNU hash chain without an end");
}

std::optional<ElfSymbol> ElfDynamic::by_hash(Address table, std::string_view name) const {
  const auto buckets = read<std::uint32_t>(table);
  const auto symbols = read<std::uint32_t>(table + 4);
  if (buckets == 0) throw_corrupt(table, "a hash table without buckets");
  std::uint64_t index = read<std::uint32_t>(table + 8 + std::uint64_t{sysv_hash(name) % buckets} * 4);
  for (std::uint64_t step = 0; step < max_chain; ++step) {
    if (index == 0) return std::nullopt;
    if (index >= symbols) throw_corrupt(table, "a hash chain that leaves its table");
    const Match found = match(index, name);
    if (found.name_equal) return found.symbol;
    index = read<std::uint32_t>(table + 8 + (buckets + index) * 4);
  }
  throw_corrupt(table, "a hash chain without an end");
}

std::optional<ElfSymbol> ElfDynamic::by_scan(std::string_view name) const {
  // The table does not state its length. Linkers put the strings behind it, and a symbol whose name lies
  // outside the strings also marks the end.
  const Address symbols = *address(DT_SYMTAB), strings = *address(DT_STRTAB);
  const std::uint64_t string_size = value(DT_STRSZ).value_or(~std::uint64_t{0});
  const ElfFormat format = format_of(platform_);
  const std::uint64_t count =
      strings > symbols ? std::min((strings - symbols) / format.symbol_size(), max_symbols) : max_symbols;
  constexpr std::uint64_t batch = 512;
  std::vector<std::byte> bytes(batch * format.symbol_size());
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t wanted = std::min(batch, count - done);
    const Address at = symbols + done * format.symbol_size();
    const auto part = std::span(bytes).first(wanted * format.symbol_size());
    const std::uint64_t got = memory_->read_some(at, part) / format.symbol_size();
    if (got == 0) throw_missing(at);
    for (std::uint64_t i = 0; i < got; ++i) {
      const GElf_Sym symbol = decode_symbol(part.subspan(i * format.symbol_size()), format);
      if (symbol.st_name >= string_size) return std::nullopt;
      if (symbol.st_name == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      if (!has_name(strings + symbol.st_name, name)) continue;
      return match(done + i, name).symbol;
    }
    done += got;
  }
  return std::nullopt;
}

ElfDynamic::Match ElfDynamic::match(std::uint64_t index, std::string_view name) const {
  const ElfFormat format = format_of(platform_);
  std::byte bytes[sizeof(Elf64_Sym)];
  const auto raw = std::span(bytes).first(format.symbol_size());
  memory_->read(platform_.wrap(*address(DT_SYMTAB) + index * format.symbol_size()), raw);
  const GElf_Sym symbol = decode_symbol(raw, format);
  if (symbol.st_shndx == SHN_UNDEF || !has_name(*address(DT_STRTAB) + symbol.st_name, name)) return {};
  const Address at = symbol.st_shndx == SHN_ABS ? symbol.st_value : platform_.wrap(symbol.st_value + bias_);
  return {true,
          {at, symbol.st_size, static_cast<unsigned>(GELF_ST_TYPE(symbol.st_info)),
           static_cast<unsigned>(GELF_ST_BIND(symbol.st_info))}};
}

bool ElfDynamic::has_name(Address at, std::string_view name) const {
  std::byte bytes[max_name + 1];
  const auto part = std::span(bytes).first(name.size() + 1);
  if (memory_->read_some(platform_.wrap(at), part) < part.size()) return false;
  const auto end = std::to_integer<char>(part.back());
  return std::memcmp(part.data(), name.data(), name.size()) == 0 && (end == '\0' || end == '@');
}

std::string ElfDynamic::soname() const {
  const auto strings = address(DT_STRTAB);
  const auto offset = value(DT_SONAME);
  if (!strings || !offset) return {};
  char text[256] = {};
  const std::size_t got =
      memory_->read_some(platform_.wrap(*strings + *offset), std::as_writable_bytes(std::span(text)));
  const std::string_view all(text, got);
  const std::size_t end = all.find('\0');
  return end == std::string_view::npos ? std::string() : std::string(all.substr(0, end));
}

} // namespace clr
