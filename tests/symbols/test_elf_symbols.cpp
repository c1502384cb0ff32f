// Functions and lines of ELF files: this program itself, and small files of all classes and byte orders.
#include "core/symbols/elf_symbol_source.h"
#include "tests/memory/temporary_directory.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>

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
