// Functions and lines of ELF files: this program itself, and small files of all classes and byte orders.
#include "core/symbols/elf_symbol_source.h"
#include "tests/memory/temporary_directory.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>

#include <bit>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <unistd.h>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t marked_line = __LINE__ + 1;
__attribute__((noinline)) int marked_function(int value) {
  volatile int sum = value;
  for (int i = 0; i < value; ++i) sum = sum + i;
  return sum;
}

std::uint64_t load_bias() {
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr; // the program comes first
        return 1;
      },
      &bias);
  return bias;
}

struct Symbol32 {
  std::uint64_t value, size;
  unsigned char info;
  std::uint16_t section; // 1 is .text at 0x1000, 0x100 bytes; 2 is .data
  const char* name;
};

// An ELF file with these symbols, written by libelf.
void write_elf(const std::string& path, int elf_class, int order, std::uint16_t type, std::uint16_t machine,
               const std::vector<Symbol32>& symbols) {
  elf_version(EV_CURRENT);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  Elf* elf = elf_begin(file, ELF_C_WRITE, nullptr);
  REQUIRE(gelf_newehdr(elf, elf_class) != nullptr);
  GElf_Ehdr header;
  gelf_getehdr(elf, &header);
  header.e_ident[EI_DATA] = static_cast<unsigned char>(order);
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_shstrndx = 4;
  gelf_update_ehdr(elf, &header);
  std::string names(1, '\0');
  static unsigned char code[0x100];
  const auto section = [&](GElf_Word kind, GElf_Xword flags, GElf_Addr address, void* bytes, std::size_t size,
                           Elf_Type data_type, GElf_Word link, GElf_Xword entry) {
    Elf_Scn* made = elf_newscn(elf);
    Elf_Data* data = elf_newdata(made);
    data->d_buf = bytes;
    data->d_size = size;
    data->d_type = data_type;
    data->d_align = 1;
    data->d_version = EV_CURRENT;
    GElf_Shdr shdr{};
    gelf_getshdr(made, &shdr);
    shdr.sh_type = kind;
    shdr.sh_flags = flags;
    shdr.sh_addr = address;
    shdr.sh_link = link;
    shdr.sh_entsize = entry;
    gelf_update_shdr(made, &shdr);
    return data;
  };
  section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, code, sizeof code, ELF_T_BYTE, 0, 0);
  section(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x2000, code, 16, ELF_T_BYTE, 0, 0);
  const std::size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
  std::vector<char> table((symbols.size() + 1) * size);
  Elf_Data* data = section(SHT_SYMTAB, 0, 0, table.data(), table.size(), ELF_T_SYM, 4, size);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    GElf_Sym symbol{};
    symbol.st_name = static_cast<GElf_Word>(names.size());
    names += symbols[i].name;
    names += '\0';
    symbol.st_value = symbols[i].value;
    symbol.st_size = symbols[i].size;
    symbol.st_info = symbols[i].info;
    symbol.st_shndx = symbols[i].section;
    REQUIRE(gelf_update_sym(data, static_cast<int>(i) + 1, &symbol) != 0);
  }
  section(SHT_STRTAB, 0, 0, names.data(), names.size(), ELF_T_BYTE, 0, 0);
  REQUIRE(elf_update(elf, ELF_C_WRITE) > 0);
  elf_end(elf);
  ::close(file);
}

constexpr unsigned char global_function = GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
                        local_function = GELF_ST_INFO(STB_LOCAL, STT_FUNC),
                        label = GELF_ST_INFO(STB_LOCAL, STT_NOTYPE),
                        object = GELF_ST_INFO(STB_GLOBAL, STT_OBJECT);

} // namespace

namespace {

// A 64-bit file of these sections, as bytes; what libelf would not write. Section 1 is code, 0x100 bytes at
// 0x1000.
struct RawSection {
  std::string name, content;
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = 0;
  std::uint32_t link = 0;
};

std::string raw_bytes(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string raw_elf(std::vector<RawSection> sections) {
  sections.insert(
      sections.begin(),
      {RawSection{.name = "", .content = "", .type = SHT_NULL},
       RawSection{.name = ".text", .content = "", .type = SHT_NOBITS, .flags = SHF_ALLOC | SHF_EXECINSTR}});
  std::string names;
  std::vector<std::uint32_t> name_offsets;
  sections.push_back({.name = ".shstrtab", .content = "", .type = SHT_STRTAB});
  for (const RawSection& each : sections) {
    name_offsets.push_back(static_cast<std::uint32_t>(names.size()));
    names += each.name + '\0';
  }
  sections.back().content = names;
  std::string body, headers;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const RawSection& each = sections[i];
    body.resize((body.size() + 7) / 8 * 8);
    Elf64_Shdr header{};
    header.sh_name = name_offsets[i];
    header.sh_type = each.type;
    header.sh_flags = each.flags;
    header.sh_addr = i == 1 ? 0x1000 : 0;
    header.sh_offset = each.type == SHT_NULL ? 0 : sizeof(Elf64_Ehdr) + body.size();
    header.sh_size = i == 1 ? 0x100 : each.content.size();
    header.sh_link = each.link;
    header.sh_addralign = i == 0 ? 0 : 1;
    header.sh_entsize = each.type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0;
    headers += raw_bytes(header);
    body += each.content;
  }
  body.resize((body.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  return raw_bytes(header) + body + headers;
}

std::string raw_function(std::uint32_t name, std::uint64_t address, std::uint64_t size = 1) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = global_function;
  symbol.st_shndx = 1;
  symbol.st_value = address;
  symbol.st_size = size;
  return raw_bytes(symbol);
}

ElfSymbolSource read_raw(const std::vector<RawSection>& sections, const std::function<bool()>& stop = {}) {
  const std::string bytes = raw_elf(sections);
  // libelf reads records in place where they are aligned, as those of a file that was read are.
  std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return read_elf_symbols(std::as_bytes(std::span(aligned)).first(bytes.size()), "x.so", stop);
}

const std::string two_names("\0f\0g\0", 5);

} // namespace

TEST_CASE("Of several tables of symbols the first is read", "[elf]") {
  std::vector<RawSection> sections{{.name = ".strtab", .content = two_names, .type = SHT_STRTAB}};
  sections.push_back({.name = ".symtab", .content = raw_function(1, 0x1000), .type = SHT_SYMTAB, .link = 2});
  sections.push_back({.name = ".symtab", .content = raw_function(3, 0x1010), .type = SHT_SYMTAB, .link = 2});
  const ElfSymbolSource source = read_raw(sections);
  CHECK(source.functions == 1);
  CHECK(at(*source.symbols, 0x1000) == "f");
  CHECK(at(*source.symbols, 0x1010) == "-");
  CHECK(source.note.empty());
}

TEST_CASE("Names that do not end are no names, and are not searched for their ends one by one", "[elf]") {
  constexpr std::uint32_t count = 200'000, length = 4'000'000;
  std::string symbols = raw_function(1, 0x1000);
  for (std::uint32_t i = 0; i < count; ++i) symbols += raw_function(5 + i, 0x1010);
  const ElfSymbolSource source =
      read_raw({{.name = ".strtab", .content = two_names + std::string(length, 'x'), .type = SHT_STRTAB},
                {.name = ".symtab", .content = symbols, .type = SHT_SYMTAB, .link = 2}});
  CHECK(source.functions == 1);
  CHECK(at(*source.symbols, 0x1000) == "f");
  CHECK(at(*source.symbols, 0x1010) == "-");
}

TEST_CASE("Names that share their ends have one room, and what is beyond it is counted", "[elf]") {
  constexpr std::size_t each = max_symbol_name + 1, fit = max_elf_names / each, more = 100;
  std::string symbols;
  for (std::uint32_t i = 0; i < fit + more; ++i) symbols += raw_function(1 + i, 0x1000 + i);
  const std::string names = '\0' + std::string(each + fit + more, 'x') + '\0';
  const ElfSymbolSource source =
      read_raw({{.name = ".strtab", .content = names, .type = SHT_STRTAB},
                {.name = ".symtab", .content = symbols, .type = SHT_SYMTAB, .link = 2}});
  CHECK(source.functions == fit);
  CHECK(source.dropped.no_room == more);
}

TEST_CASE("An ELF file is read until somebody stops it", "[elf]") {
  std::size_t asked = 0;
  const auto fault = fault_of([&] {
    read_raw({{.name = ".strtab", .content = two_names, .type = SHT_STRTAB},
              {.name = ".symtab", .content = raw_function(1, 0x1000), .type = SHT_SYMTAB, .link = 2}},
             [&] { return ++asked == 1; });
  });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::interrupted);
  CHECK(std::string(fault->what()) == "x.so: interrupted");
  CHECK(asked == 1);
}

TEST_CASE("Debug information that expands to too much gives no lines, and this is told", "[elf]") {
  Elf64_Chdr large{};
  large.ch_type = ELFCOMPRESS_ZLIB;
  large.ch_size = max_elf_expanded + 1;
  large.ch_addralign = 1;
  const std::string gnu = "ZLIB" + std::string("\1\0\0\0\0\0\0\0", 8) + std::string(8, 'x');
  const std::string told =
      "its debug information has more than 536870912 bytes when it is expanded: lines are left out";
  const auto read = [](const RawSection& section) {
    const ElfSymbolSource source =
        read_raw({{.name = ".strtab", .content = two_names, .type = SHT_STRTAB},
                  {.name = ".symtab", .content = raw_function(1, 0x1000), .type = SHT_SYMTAB, .link = 2},
                  section});
    CHECK(source.functions == 1);
    return source.note;
  };
  CHECK(read({.name = ".debug_info",
              .content = raw_bytes(large) + std::string(64, 'x'),
              .flags = SHF_COMPRESSED}) == told);
  CHECK(read({.name = ".zdebug_line", .content = gnu}) == told);
}

TEST_CASE("This program's own functions and lines", "[elf]") {
  CHECK(marked_function(4) == 10);
  const ElfSymbolSource source = read_elf_symbols("/proc/self/exe");
  CHECK(source.functions > 100);
  CHECK(source.lines > 1000);
  CHECK(source.bad_units == 0);
  CHECK(source.symbols->space() == SymbolSpace::image);
  CHECK(source.symbols->made_from() == "ELF file /proc/self/exe");
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(&marked_function) - load_bias();
  const auto symbol = source.symbols->find(address);
  REQUIRE(symbol);
  CHECK_THAT(std::string(symbol->function), Catch::Contains("marked_function"));
  CHECK(symbol->function_start == address);
  CHECK_THAT(std::string(symbol->file), Catch::EndsWith("tests/symbols/test_elf_symbols.cpp"));
  // An optimising compiler gives the first statement's.
  CHECK(symbol->line >= marked_line);
  CHECK(symbol->line <= marked_line + 1);
  // Its last byte has a line further down, and is the same function.
  std::uint64_t end = address;
  std::uint32_t last_line = 0;
  for (auto each = symbol; each && each->function_start == address; each = source.symbols->find(end)) {
    end = each->address + each->size;
    last_line = std::max(last_line, each->line);
  }
  CHECK(end > address + 8);
  CHECK(last_line > marked_line + 1);
  CHECK(last_line <= marked_line + 4);
}

TEST_CASE("Symbols of all classes and byte orders", "[elf]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x.so");
  for (const int elf_class : {ELFCLASS32, ELFCLASS64})
    for (const int order : {ELFDATA2LSB, ELFDATA2MSB}) {
      write_elf(path, elf_class, order, ET_DYN, elf_class == ELFCLASS32 ? EM_PPC : EM_S390,
                {{0x1000, 0x10, global_function, 1, "first"},
                 {0x1000, 0x10, local_function, 1, "alias"},
                 {0x1000, 0x10, global_function, 1, "__first"},
                 {0x1020, 0x40, global_function, 1, "outer"},
                 {0x1030, 0x08, local_function, 1, "inner"},
                 {0x1080, 0, label, 1, "label"},
                 {0x1090, 0x10, global_function, 1, "after"},
                 {0x10f0, 0, label, 1, "last"},
                 {0x10a0, 0x10, object, 1, "table"},
                 {0x2000, 0, label, 2, "data"},
                 {0x1050, 4, label, 1, "$x"},
                 {0, 0x10, global_function, SHN_UNDEF, "imported"}});
      const ElfSymbolSource source = read_elf_symbols(path);
      CHECK(source.functions == 6);
      CHECK(source.lines == 0);
      CHECK(source.symbols->identity().empty());
      CHECK(whole(*source.symbols, 0x1000, 0x10) == "first");
      CHECK(at(*source.symbols, 0x1010) == "-");
      CHECK(whole(*source.symbols, 0x1020, 0x10) == "outer");
      CHECK(whole(*source.symbols, 0x1030, 8) == "inner");
      CHECK(whole(*source.symbols, 0x1038, 0x28) == "outer");
      CHECK(source.symbols->find(0x1038)->function_start == 0x1020);
      // Without a size up to the next, or to the end of the section.
      CHECK(whole(*source.symbols, 0x1080, 0x10) == "label");
      CHECK(whole(*source.symbols, 0x1090, 0x10) == "after");
      CHECK(at(*source.symbols, 0x10a0) == "-");
      CHECK(whole(*source.symbols, 0x10f0, 0x10) == "last");
      CHECK(at(*source.symbols, 0x1100) == "-");
      CHECK(at(*source.symbols, 0x2000) == "-");
    }
}

TEST_CASE("Thumb functions begin at an even address", "[elf]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x.so");
  write_elf(path, ELFCLASS32, ELFDATA2LSB, ET_EXEC, EM_ARM, {{0x1001, 0x10, global_function, 1, "thumb"}});
  CHECK(whole(*read_elf_symbols(path).symbols, 0x1000, 0x10) == "thumb");
}

TEST_CASE("Files without names, or of another kind, are refused", "[elf]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x");
  const auto why = [&] {
    const auto fault = fault_of([&] { read_elf_symbols(path); });
    const std::string what = fault ? fault->what() : "accepted";
    return what.starts_with(path) ? what.substr(path.size()) : what;
  };
  write_elf(path, ELFCLASS64, ELFDATA2LSB, ET_REL, EM_X86_64, {{0, 0x10, global_function, 1, "f"}});
  CHECK(why() == " is not linked: only executables and shared objects have addresses");
  write_elf(path, ELFCLASS64, ELFDATA2LSB, ET_DYN, EM_X86_64, {});
  CHECK(why() == " has neither symbols of functions nor a line table");
  folder.write(
      "x", bytes_of_text("no ELF file at all, but long enough to hold the header of one, if it were one"));
  CHECK(why() == " is no ELF file");
  folder.write("x", {});
  CHECK(why() == " is no ELF file");
}

TEST_CASE("A damaged ELF file has fewer symbols, or is refused", "[elf]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x.so");
  write_elf(path, ELFCLASS64, ELFDATA2LSB, ET_DYN, EM_X86_64,
            {{0x1000, 0x10, global_function, 1, "first"}, {0x1020, 0x40, global_function, 1, "outer"}});
  const std::string good = read_text(path);
  std::size_t read = 0, refused = 0;
  for (std::size_t byte = 0; byte < good.size(); byte += byte < 64 || byte > 0x120 ? 1 : 16) {
    std::string damaged = good;
    damaged[byte] = static_cast<char>(~damaged[byte]);
    folder.write("x.so", bytes_of_text(damaged));
    const auto fault = fault_of([&] { read += read_elf_symbols(path).symbols->size() <= 4 ? 1 : 0; });
    refused += fault ? 1 : 0;
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}
