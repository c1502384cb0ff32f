#include "core/symbols/elf_symbol_source.h"

#include "core/memory/elf_handle.h"
#include "core/memory/error.h"
#include "core/memory/loaded_file.h"
#include "core/memory/text_encoding.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr {
namespace {

struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

// No more of a text than a table takes, with the byte that shows that it was cut.
std::string_view text_of(const char* text) {
  return {text, strnlen(text, max_symbol_name + 1)};
}

struct Function {
  std::uint64_t address = 0, size = 0;
  unsigned rank = 0; // the alias with the lowest rank is shown
  std::string_view name;
};

class ElfReader {
public:
  ElfReader(Elf* elf, const std::string& path) : elf_(elf), path_(path) {}

  ElfSymbolSource read() {
    GElf_Ehdr header;
    if (elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header) == nullptr)
      throw Error(ErrorKind::corrupt, fmt::format("{} is no ELF file", path_));
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("{} is not linked: only executables and shared objects have addresses", path_));
    arm_ = header.e_machine == EM_ARM;
    SymbolTableBuilder builder(SymbolSpace::image, fmt::format("ELF file {}", path_), build_id());
    add_functions(builder);
    add_lines(builder);
    if (source_.functions == 0 && source_.lines == 0)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} has neither symbols of functions nor a line table", path_));
    source_.symbols = builder.build();
    source_.dropped = builder.dropped();
    return std::move(source_);
  }

private:
  struct Code {
    std::uint64_t begin = 0, end = 0;
  };

  std::string build_id() {
    const void* bits = nullptr;
    const ssize_t size = dwelf_elf_gnu_build_id(elf_, &bits);
    return hex_digits({static_cast<const std::byte*>(bits), size > 0 ? static_cast<std::size_t>(size) : 0});
  }

  void collect(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) return;
    const std::size_t count = std::min<std::size_t>(
        data->d_size / header.sh_entsize, static_cast<std::size_t>(std::numeric_limits<int>::max()));
    for (std::size_t i = 0; i < count && functions_.size() < max_elf_symbols; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
      const unsigned type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && executable(symbol.st_shndx)))
        continue;
      const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      // Names like "$a", "$x", "$d" mark code and data of ARM; they are no functions.
      if (name == nullptr || *name == '\0' || *name == '$') continue;
      const std::uint64_t address = arm_ ? symbol.st_value & ~std::uint64_t{1} : symbol.st_value; // Thumb
      // Of several aliases, a typed, global name without leading underscores says most.
      unsigned underscores = 0;
      while (underscores < 3 && name[underscores] == '_') ++underscores;
      functions_.push_back({address, symbol.st_size,
                            (type == STT_NOTYPE ? 16u : 0u) + (binding == STB_LOCAL ? 8u : 0u) +
                                underscores * 2 + (binding == STB_WEAK ? 1u : 0u),
                            text_of(name)});
    }
  }

  // Labels outside of code (ends of sections, tables) are no functions.
  bool executable(std::size_t section) const { return section < is_code_.size() && is_code_[section]; }

  // The end of the code section that holds the address; the address itself when no code section does.
  std::uint64_t end_of_code(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(code_, address, {}, &Code::begin);
    return next == code_.begin() ? address : std::max(address, std::prev(next)->end);
  }

  void add_functions(SymbolTableBuilder& builder) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) continue;
      if (header.sh_size > std::numeric_limits<std::uint64_t>::max() - header.sh_addr) continue;
      code_.push_back({header.sh_addr, header.sh_addr + header.sh_size});
      is_code_.resize(elf_ndxscn(section) + 1);
      is_code_.back() = true;
    }
    std::ranges::sort(code_, {}, &Code::begin);
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr &&
          (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
        collect(section, header);
    }
    std::ranges::sort(functions_, [](const Function& a, const Function& b) {
      return std::tie(a.address, a.rank, a.name) < std::tie(b.address, b.rank, b.name);
    });
    const auto aliases = std::ranges::unique(functions_, {}, &Function::address);
    functions_.erase(aliases.begin(), aliases.end());
    // A symbol without a size reaches to the next one.
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      Function& each = functions_[i];
      if (each.size != 0) continue;
      std::uint64_t end = end_of_code(each.address);
      if (i + 1 < functions_.size()) end = std::min(end, functions_[i + 1].address);
      each.size = end > each.address ? end - each.address : 0;
    }
    // Bytes that several functions claim go to the one that is added last. Functions are added in ascending
    // order, so that is the inner function, which begins later.
    for (const Function& each : functions_)
      if (each.size != 0 && builder.add(each.address, each.size, each.name)) ++source_.functions;
  }

  void add_lines(SymbolTableBuilder& builder) {
    const std::unique_ptr<Dwarf, DwarfEnd> dwarf(dwarf_begin_elf(elf_, DWARF_C_READ, nullptr));
    if (!dwarf) return;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    std::uint8_t type = 0;
    // Each line table is read once: units of one source file can share one. Type units are skipped, because
    // their line table is that of another unit.
    std::set<const Dwarf_Lines*> seen;
    for (;;) {
      const int state = dwarf_get_units(dwarf.get(), unit, &unit, nullptr, &type, &die, nullptr);
      if (state != 0) {
        if (state < 0) ++source_.bad_units;
        return;
      }
      if (type != DW_UT_compile && type != DW_UT_partial) continue;
      Dwarf_Lines* lines = nullptr;
      std::size_t count = 0;
      if (dwarf_getsrclines(&die, &lines, &count) != 0) {
        if (dwarf_hasattr(&die, DW_AT_stmt_list) != 0) ++source_.bad_units;
        continue;
      }
      if (seen.insert(lines).second) add_unit(builder, lines, count, ranges_of(die));
    }
  }

  // The address ranges of the unit's code, sorted. Functions that the linker dropped keep their lines, at
  // addresses from 0 on that may overlap the code of others. Their ranges begin outside of all code, so they
  // are left out.
  std::vector<Code> ranges_of(Dwarf_Die& unit) const {
    std::vector<Code> ranges;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    std::ptrdiff_t next = 0;
    while (ranges.size() < max_elf_symbols && (next = dwarf_ranges(&unit, next, &base, &begin, &end)) > 0)
      if (begin < end && end_of_code(begin) != begin) ranges.push_back({begin, end});
    std::ranges::sort(ranges, {}, &Code::begin);
    return ranges;
  }

  // Adds the rows of a unit; libdw has sorted them by address.
  void add_unit(SymbolTableBuilder& builder, Dwarf_Lines* lines, std::size_t count,
                const std::vector<Code>& ranges) {
    const auto address_of = [](Dwarf_Line* row) {
      Dwarf_Addr address = 0;
      return row != nullptr && dwarf_lineaddr(row, &address) == 0 ? std::optional(address) : std::nullopt;
    };
    std::unordered_map<const char*, SymbolTableBuilder::Name> files; // the texts of libdw stay where they are
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (++rows_ > max_elf_line_rows) return;
      Dwarf_Line* row = dwarf_onesrcline(lines, i);
      bool ends = false;
      int line = 0;
      const auto begin = address_of(row), end = address_of(dwarf_onesrcline(lines, i + 1));
      if (!begin || !end || *end <= *begin || dwarf_lineendsequence(row, &ends) != 0 || ends) continue;
      const auto range = std::ranges::upper_bound(ranges, *begin, {}, &Code::begin);
      if (range == ranges.begin() || *begin >= std::prev(range)->end) continue;
      // Line 0 means code that belongs to no line.
      if (dwarf_lineno(row, &line) != 0 || line <= 0) continue;
      const char* file = dwarf_linesrc(row, nullptr, nullptr);
      if (file == nullptr) continue;
      if (files.size() >= max_elf_files) files.clear();
      const auto [known, is_new] = files.try_emplace(file);
      if (is_new) known->second = builder.name(text_of(file));
      if (builder.add_line(*begin, *end - *begin, known->second, static_cast<std::uint32_t>(line)))
        ++source_.lines;
    }
  }

  Elf* elf_;
  const std::string& path_;
  bool arm_ = false;
  std::vector<Code> code_;    // sections of code, sorted
  std::vector<bool> is_code_; // by number of the section
  std::vector<Function> functions_;
  std::size_t rows_ = 0;
  ElfSymbolSource source_;
};

} // namespace

ElfSymbolSource read_elf_symbols(std::span<const std::byte> bytes, const std::string& path) {
  elf_version(EV_CURRENT);
  // libelf wants a pointer to writable bytes, but writes to them only on an update.
  auto* image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  const ElfHandle elf(elf_memory(image, bytes.size()));
  if (!elf) throw Error(ErrorKind::corrupt, fmt::format("{} is no ELF file", path));
  return ElfReader(elf.get(), path).read();
}

ElfSymbolSource read_elf_symbols(const std::string& path) {
  return read_elf_symbols(LoadedFile::open(path).bytes(), path);
}

} // namespace clr
