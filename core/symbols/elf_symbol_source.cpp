#include "core/symbols/elf_symbol_source.h"

#include "core/memory/elf_handle.h"
#include "core/memory/elf_records.h"
#include "core/memory/error.h"
#include "core/memory/loaded_file.h"
#include "core/memory/memory_reader.h"
#include "core/memory/text_encoding.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <gelf.h>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t symbols_without_stop = 1u << 16;

struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

std::span<const std::byte> bytes_of(Elf_Scn* section) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

// No more of a text than a table takes, with the byte that shows that it was cut.
std::string_view text_of(const char* text, std::size_t most) {
  return {text, strnlen(text, std::min(most, max_symbol_name + 1))};
}

// The name at an offset of a section's strings, which end with a NUL.
std::string_view name_at(std::string_view strings, std::size_t offset) {
  if (offset >= strings.size()) return {};
  return text_of(strings.data() + offset, strings.size() - offset);
}

struct Function {
  std::uint64_t address = 0, size = 0;
  unsigned rank = 0; // the alias with the lowest rank is shown
  std::string_view name;
};

class ElfReader {
public:
  ElfReader(Elf* elf, const std::string& path, const std::function<bool()>& stop)
      : elf_(elf), path_(path), stop_(stop) {}

  ElfSymbolSource read() {
    GElf_Ehdr header;
    if (elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header) == nullptr)
      throw Error(ErrorKind::corrupt, fmt::format("{} is no ELF file", path_));
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("{} is not linked: only executables and shared objects have addresses", path_));
    arm_ = header.e_machine == EM_ARM;
    order_ = header.e_ident[EI_DATA] == ELFDATA2MSB ? ByteOrder::big : ByteOrder::little;
    builder_.emplace(SymbolSpace::image, fmt::format("ELF file {}", path_), build_id());
    look_at_sections();
    add_functions();
    add_lines();
    if (source_.functions == 0 && source_.lines == 0)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} has neither symbols of functions nor a line table", path_));
    source_.symbols = builder_->build();
    source_.dropped = builder_->dropped();
    source_.dropped.no_room += no_room_;
    return std::move(source_);
  }

private:
  struct Code {
    std::uint64_t begin = 0, end = 0;
  };

  // Sections of notes lie beside each other. Of those that do not, no more is looked at than the file has
  // bytes.
  std::string build_id() const {
    std::size_t left = 0;
    elf_rawfile(elf_, &left);
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
      const auto notes = bytes_of(section);
      if (notes.size() > left) break;
      left -= notes.size();
      const auto found = find_build_id(notes, order_, header.sh_addralign);
      if (!found.empty()) return hex_digits(std::as_bytes(std::span(found)));
    }
    return {};
  }

  void note(std::string_view what) {
    if (!source_.note.empty()) source_.note += "; ";
    source_.note += what;
  }

  void check_stop() const {
    if (stop_ && stop_()) throw Error(ErrorKind::interrupted, fmt::format("{}: interrupted", path_));
  }

  // The strings of a section up to its last NUL: a name behind it has no end. It is looked for once, and not
  // for each name.
  std::string_view strings_of(std::size_t number) const {
    Elf_Scn* const section = elf_getscn(elf_, number);
    GElf_Shdr header;
    if (section == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_STRTAB ||
        (header.sh_flags & SHF_COMPRESSED) != 0)
      return {};
    const auto bytes = bytes_of(section);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.rfind('\0') + 1);
  }

  // Of sections that a file has once by its format, the first counts.
  void look_at_sections() {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr) continue;
      if ((header.sh_flags & SHF_EXECINSTR) != 0) add_code(elf_ndxscn(section), header);
      if (header.sh_type == SHT_SYMTAB && symbols_ == nullptr) symbols_ = section;
      if (header.sh_type == SHT_DYNSYM && dynamic_symbols_ == nullptr) dynamic_symbols_ = section;
      if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_ALLOC) == 0)
        expanded_ += std::min(expanded_size(section, header), max_elf_expanded + 1);
    }
    std::ranges::sort(code_, {}, &Code::begin);
  }

  // The bytes of compressed debug information when it is expanded, as its header says, in the form of the
  // ELF specification or in the older one of GNU; 0 when it is not compressed.
  static std::uint64_t expanded_size(Elf_Scn* section, const GElf_Shdr& header) {
    constexpr std::string_view mark = "ZLIB";
    GElf_Chdr compressed{};
    if ((header.sh_flags & SHF_COMPRESSED) != 0)
      return gelf_getchdr(section, &compressed) == nullptr ? 0 : compressed.ch_size;
    const auto bytes = bytes_of(section);
    if (bytes.size() < mark.size() + sizeof compressed.ch_size ||
        std::memcmp(bytes.data(), mark.data(), mark.size()) != 0)
      return 0;
    return load<std::uint64_t>(bytes.subspan(mark.size()), ByteOrder::big);
  }

  void add_code(std::size_t number, const GElf_Shdr& header) {
    if (header.sh_size > std::numeric_limits<std::uint64_t>::max() - header.sh_addr) return;
    code_.push_back({header.sh_addr, header.sh_addr + header.sh_size});
    is_code_.resize(number + 1);
    is_code_.back() = true;
  }

  void collect(Elf_Scn* section) {
    GElf_Shdr header;
    if (section == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) return;
    const std::string_view names = strings_of(header.sh_link);
    const std::size_t count = std::min<std::size_t>(
        data->d_size / header.sh_entsize, static_cast<std::size_t>(std::numeric_limits<int>::max()));
    for (std::size_t i = 0; i < count; ++i) {
      if (i % symbols_without_stop == 0) check_stop();
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
      const unsigned type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && executable(symbol.st_shndx)))
        continue;
      if (functions_.size() >= max_elf_symbols || name_room_ == 0) {
        ++no_room_;
        continue;
      }
      const std::string_view name = name_at(names, symbol.st_name);
      // Names like "$a", "$x", "$d" mark code and data of ARM; they are no functions.
      if (name.empty() || name.front() == '$') continue;
      name_room_ -= std::min(name_room_, name.size());
      const std::uint64_t address = arm_ ? symbol.st_value & ~std::uint64_t{1} : symbol.st_value; // Thumb
      // Of several aliases, a typed, global name without leading underscores says most.
      const std::size_t text = std::min(name.find_first_not_of('_'), name.size());
      const auto underscores = static_cast<unsigned>(std::min<std::size_t>(text, 3));
      functions_.push_back({address, symbol.st_size,
                            (type == STT_NOTYPE ? 16u : 0u) + (binding == STB_LOCAL ? 8u : 0u) +
                                underscores * 2 + (binding == STB_WEAK ? 1u : 0u),
                            name});
    }
  }

  // Labels outside of code (ends of sections, tables) are no functions.
  bool executable(std::size_t section) const { return section < is_code_.size() && is_code_[section]; }

  // The end of the code section that holds the address; the address itself when no code section does.
  std::uint64_t end_of_code(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(code_, address, {}, &Code::begin);
    return next == code_.begin() ? address : std::max(address, std::prev(next)->end);
  }

  void add_functions() {
    collect(symbols_);
    collect(dynamic_symbols_);
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
      if (each.size != 0 && builder_->add(each.address, each.size, each.name)) ++source_.functions;
    functions_ = {};
  }

  void add_lines() {
    if (expanded_ > max_elf_expanded)
      return note(
          fmt::format("its debug information has more than {} bytes when it is expanded: lines are left out",
                      max_elf_expanded));
    const std::unique_ptr<Dwarf, DwarfEnd> dwarf(dwarf_begin_elf(elf_, DWARF_C_READ, nullptr));
    if (!dwarf) return;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    std::uint8_t type = 0;
    // Each line table is read once: units of one source file can share one. Type units are skipped, because
    // their line table is that of another unit.
    std::set<const Dwarf_Lines*> seen;
    while (rows_ < max_elf_line_rows && ranges_left_ != 0) {
      check_stop();
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
      if (seen.insert(lines).second) add_unit(lines, count, ranges_of(die));
    }
    note(
        fmt::format("its debug information has more than {} rows of lines, or {} ranges of code: other lines "
                    "are left out",
                    max_elf_line_rows, max_elf_ranges));
  }

  // The address ranges of the unit's code, sorted. Functions that the linker dropped keep their lines, at
  // addresses from 0 on that may overlap the code of others. Their ranges begin outside of all code, so they
  // are left out.
  std::vector<Code> ranges_of(Dwarf_Die& unit) {
    std::vector<Code> ranges;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    std::ptrdiff_t next = 0;
    while (ranges_left_ != 0 && (next = dwarf_ranges(&unit, next, &base, &begin, &end)) > 0) {
      --ranges_left_;
      if (begin < end && end_of_code(begin) != begin) ranges.push_back({begin, end});
    }
    std::ranges::sort(ranges, {}, &Code::begin);
    return ranges;
  }

  // Adds the rows of a unit; libdw has sorted them by address.
  void add_unit(Dwarf_Lines* lines, std::size_t count, const std::vector<Code>& ranges) {
    const auto address_of = [](Dwarf_Line* row) {
      Dwarf_Addr address = 0;
      return row != nullptr && dwarf_lineaddr(row, &address) == 0 ? std::optional(address) : std::nullopt;
    };
    std::unordered_map<const char*, SymbolTableBuilder::Name> files; // the texts of libdw stay where they are
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (++rows_ >= max_elf_line_rows) return;
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
      if (is_new) known->second = builder_->name(text_of(file, max_symbol_name + 1));
      if (builder_->add_line(*begin, *end - *begin, known->second, static_cast<std::uint32_t>(line)))
        ++source_.lines;
    }
  }

  Elf* elf_;
  const std::string& path_;
  const std::function<bool()>& stop_;
  bool arm_ = false;
  ByteOrder order_ = ByteOrder::little;
  Elf_Scn *symbols_ = nullptr, *dynamic_symbols_ = nullptr;
  std::vector<Code> code_;    // sections of code, sorted
  std::vector<bool> is_code_; // by number of the section
  std::vector<Function> functions_;
  std::size_t name_room_ = max_elf_names, no_room_ = 0;
  std::size_t rows_ = 0, ranges_left_ = max_elf_ranges;
  std::uint64_t expanded_ = 0; // bytes of compressed debug information
  std::optional<SymbolTableBuilder> builder_;
  ElfSymbolSource source_;
};

} // namespace

ElfSymbolSource read_elf_symbols(std::span<const std::byte> bytes, const std::string& path,
                                 const std::function<bool()>& stop) {
  elf_version(EV_CURRENT);
  // libelf wants a pointer to writable bytes, but writes to them only on an update.
  auto* image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  const ElfHandle elf(elf_memory(image, bytes.size()));
  if (!elf) throw Error(ErrorKind::corrupt, fmt::format("{} is no ELF file", path));
  return ElfReader(elf.get(), path, stop).read();
}

ElfSymbolSource read_elf_symbols(const std::string& path, const std::function<bool()>& stop) {
  const LoadedFile file = LoadedFile::open(path);
  return read_elf_symbols(file.bytes(), path, stop);
}

} // namespace clr
