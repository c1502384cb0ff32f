#include "core/stack/elf_symbols.h"

#include "core/memory/elf_handle.h"

#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <memory>

namespace clr {
namespace {

// A function that is longer than all that begin inside it (a symbol for a whole section of assembly) is
// looked for this many symbols back.
constexpr std::size_t max_enclosing = 16;

// Number of dynamic symbols: by DT_HASH's chains, else up to the string table, which linkers put behind them.
std::uint64_t count_symbols(MemoryReader& memory, const Platform& platform, const ElfDynamic& dynamic,
                            Address symbols, Address names, std::size_t symbol_size) {
  if (const auto hash = dynamic.address(DT_HASH)) {
    std::byte raw[8];
    memory.read(*hash, raw);
    return load<std::uint32_t>(std::span(raw).subspan(4), platform.byte_order);
  }
  if (names <= symbols) throw_corrupt(symbols, "a symbol table without a count");
  return (names - symbols) / symbol_size;
}

} // namespace

std::string_view ElfSymbols::name_at(std::uint32_t offset) const {
  if (offset >= names_.size()) return {};
  const std::string_view rest = names_.substr(offset, max_name);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

void ElfSymbols::add(Address address, std::uint64_t size, unsigned info, std::uint16_t section,
                     std::uint32_t name) {
  const unsigned type = info & 0xF, binding = info >> 4;
  if (section == SHN_UNDEF || address == 0) return;
  // NOTYPE: labels of hand-written assembly.
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
  const std::string_view text = name_at(name);
  // arm64 marks code and data with local symbols "$x" and "$d".
  if (text.empty() || text[0] == '$') return;
  // Of aliases a typed, global name without leading underscores says most.
  const std::size_t underscores = std::min<std::size_t>(text.find_first_not_of('_'), 3);
  const std::uint32_t rank = (type == STT_NOTYPE ? 16u : 0u) + (binding == STB_LOCAL ? 8u : 0u) +
                             static_cast<std::uint32_t>(underscores) * 2 + (binding == STB_WEAK ? 1u : 0u);
  entries_.push_back({address, size, name, rank});
}

void ElfSymbols::finish() {
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tuple(a.address, a.rank, a.name) < std::tuple(b.address, b.rank, b.name);
  });
  const auto aliases = std::ranges::unique(entries_, {}, &Entry::address);
  entries_.erase(aliases.begin(), aliases.end());
}

std::optional<ElfSymbols::Function> ElfSymbols::find(Address address) const {
  auto it = std::ranges::upper_bound(entries_, address, {}, &Entry::address);
  for (std::size_t back = 0; it != entries_.begin() && back < max_enclosing; ++back) {
    --it;
    // Without a size a symbol reaches to the next one: only the nearest can be meant.
    if (it->size == 0 ? back == 0 : address - it->address < it->size)
      return Function{it->address, it->size, name_at(it->name)};
  }
  return std::nullopt;
}

ElfSymbols ElfSymbols::of_file(std::span<const std::byte> file) {
  ElfSymbols table;
  elf_version(EV_CURRENT);
  // libelf wants a pointer that it may write to; without an update it does not.
  auto* bytes = const_cast<char*>(reinterpret_cast<const char*>(file.data()));
  const ElfHandle elf(elf_memory(bytes, file.size()));
  if (!elf) return table;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB || header.sh_entsize == 0)
      continue;
    Elf_Scn* strings = elf_getscn(elf.get(), header.sh_link);
    Elf_Data* names = strings == nullptr ? nullptr : elf_rawdata(strings, nullptr);
    Elf_Data* symbols = elf_getdata(section, nullptr);
    if (names == nullptr || symbols == nullptr || names->d_buf == nullptr) continue;
    // The raw strings lie in the file's own bytes, which outlive libelf's handle.
    table.names_ = {static_cast<const char*>(names->d_buf), names->d_size};
    if (names->d_buf < bytes || table.names_.data() + table.names_.size() > bytes + file.size()) return {};
    const std::size_t count = std::min<std::size_t>(symbols->d_size / header.sh_entsize, max_symbols);
    for (std::size_t n = 0; n < count; ++n) {
      GElf_Sym symbol;
      if (gelf_getsym(symbols, static_cast<int>(n), &symbol) == nullptr) break;
      table.add(symbol.st_value, symbol.st_size, symbol.st_info, symbol.st_shndx, symbol.st_name);
    }
    break;
  }
  table.finish();
  return table;
}

void ElfSymbols::own_names() {
  std::size_t used = 0;
  for (const Entry& entry : entries_) used += name_at(entry.name).size() + 1;
  std::vector<char> own;
  // Names may be parts of each other: then all of them take less than each by itself.
  if (used < names_.size()) {
    own.reserve(used);
    for (Entry& entry : entries_) {
      const std::string_view name = name_at(entry.name);
      entry.name = static_cast<std::uint32_t>(own.size());
      own.insert(own.end(), name.begin(), name.end());
      own.push_back('\0');
    }
  } else {
    own.assign(names_.begin(), names_.end());
  }
  owned_names_ = std::move(own);
  names_ = {owned_names_.data(), owned_names_.size()};
}

ElfSymbols ElfSymbols::of_memory(MemoryReader& memory, ElfImage& image, std::uint64_t most) {
  ElfSymbols table;
  const ElfDynamic& dynamic = image.dynamic();
  const auto symbols = dynamic.address(DT_SYMTAB), names = dynamic.address(DT_STRTAB);
  const auto names_size = dynamic.value(DT_STRSZ);
  if (!symbols || !names || !names_size) return table;
  const bool wide = image.platform().pointer_size == 8;
  const ByteOrder order = image.platform().byte_order;
  const std::size_t symbol_size = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  const std::uint64_t count = count_symbols(memory, image.platform(), dynamic, *symbols, *names, symbol_size);
  if (count > max_symbols || *names_size > max_names ||
      count * (symbol_size + 2 * sizeof(Entry)) + *names_size > most)
    throw_corrupt(*symbols,
                  fmt::format("a symbol table of {} symbols and {} bytes of names", count, *names_size));
  table.owned_names_.resize(*names_size);
  memory.read(*names, std::as_writable_bytes(std::span(table.owned_names_)));
  table.names_ = {table.owned_names_.data(), table.owned_names_.size()};
  std::vector<std::byte> raw(count * symbol_size);
  memory.read(*symbols, raw);
  for (std::size_t n = 0; n < count; ++n) {
    const std::span<const std::byte> symbol = std::span(raw).subspan(n * symbol_size, symbol_size);
    const auto name = load<std::uint32_t>(symbol, order);
    if (wide)
      table.add(load<std::uint64_t>(symbol.subspan(offsetof(Elf64_Sym, st_value)), order),
                load<std::uint64_t>(symbol.subspan(offsetof(Elf64_Sym, st_size)), order),
                std::to_integer<unsigned>(symbol[offsetof(Elf64_Sym, st_info)]),
                load<std::uint16_t>(symbol.subspan(offsetof(Elf64_Sym, st_shndx)), order), name);
    else
      table.add(load<std::uint32_t>(symbol.subspan(offsetof(Elf32_Sym, st_value)), order),
                load<std::uint32_t>(symbol.subspan(offsetof(Elf32_Sym, st_size)), order),
                std::to_integer<unsigned>(symbol[offsetof(Elf32_Sym, st_info)]),
                load<std::uint16_t>(symbol.subspan(offsetof(Elf32_Sym, st_shndx)), order), name);
  }
  table.finish();
  return table;
}

} // namespace clr
