#include "core/dwarf/string_section.h"
#include "core/memory/elf_records.h"
#include "core/memory/error.h"
#include "tests/dwarf/written_module.h"

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;

using Names = std::vector<std::string>;

Names symbol_names(const ModuleReadBack& written) {
  Names all;
  for (const auto& symbol : written.symbols()) all.push_back(symbol.name);
  return all;
}

Names function_names(const ModuleReadBack& written, bool by_address) {
  Names all;
  for (const auto& function : written.functions(by_address)) all.push_back(function.name);
  return all;
}

// With a line, so that it is not bare.
void add_line(DebugModule& module, DebugCode& code) {
  module.files = {"/a.cs"};
  code.lines = {{.offset = 0, .file = 0, .line = 5}};
}

// The names of an entry in their order: "name=Run". Those of the entry that it refers to stand where the
// reference does.
std::vector<std::string> names_in_order(Dwarf_Die die) {
  std::vector<std::string> names;
  const auto add = [](Dwarf_Attribute* attribute, void* to) {
    auto& all = *static_cast<std::vector<std::string>*>(to);
    Dwarf_Die target;
    const unsigned code = dwarf_whatattr(attribute);
    if (code == DW_AT_name) all.push_back(std::string("name=") + dwarf_formstring(attribute));
    if (code == DW_AT_linkage_name) all.push_back(std::string("linkage=") + dwarf_formstring(attribute));
    if (code == DW_AT_specification && dwarf_formref_die(attribute, &target) != nullptr)
      for (const std::string& name : names_in_order(target)) all.push_back("declared " + name);
    return static_cast<int>(DWARF_CB_OK);
  };
  dwarf_getattrs(&die, add, &names, 0);
  return names;
}

} // namespace

TEST_CASE("the file is of the platform's class, byte order and machine") {
  for (const Platform& platform : written_platforms()) {
    DebugModule module = module_at(base, platform);
    DebugCode code = code_at(base + 0x10, 0x20, "Run");
    code.aliases = {"Ns.Type.Run", "Type.Run"};
    add_line(module, code);
    module.code.push_back(code);
    const ModuleReadBack written(module);
    CHECK(written.header.e_type == ET_DYN);
    CHECK(written.header.e_machine == (platform.cpu == Cpu::x64 ? EM_X86_64 : EM_AARCH64));
    CHECK(written.header.e_ident[EI_CLASS] == (platform.pointer_size == 8 ? ELFCLASS64 : ELFCLASS32));
    CHECK(written.header.e_ident[EI_DATA] ==
          (platform.byte_order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB));
    CHECK(symbol_names(written) == Names{"Ns.Type.Run()", "Ns.Type.Run", "Type.Run"});
    for (const auto& symbol : written.symbols()) {
      CHECK(symbol.value == base + 0x10);
      CHECK(symbol.size == 0x20);
      CHECK(symbol.type == STT_FUNC);
      CHECK(symbol.section == 1);
    }
  }
}

TEST_CASE("functions without lines and variables are entries, one of each name, and no symbols") {
  for (const Platform& platform : written_platforms()) {
    DebugModule module = module_at(base, platform);
    DebugCode code = code_at(base + 0x10, 0x20, "Type.Run");
    code.aliases = {"Ns.Type.Run"};
    module.code = {code, code_at(base + 0x40, 0x300, "Other")};
    const ModuleReadBack written(module);
    CHECK(written.symbols().empty());
    using Functions = std::vector<ModuleReadBack::Function>;
    CHECK(written.functions(true) ==
          Functions{{"Ns.Type.Type.Run()", base + 0x10, 0x20}, {"Ns.Type.Other()", base + 0x40, 0x300}});
    CHECK(written.functions(false) == Functions{{"Ns.Type.Run", base + 0x10, 0x20},
                                                {"Type.Run", base + 0x10, 0x20},
                                                {"Other", base + 0x40, 0x300}});
    const auto units = written.units();
    REQUIRE(units.size() == 2);
    for (const Dwarf_Die& unit : units) {
      CHECK(ModuleReadBack::name_of(unit) == "app.dll");
      CHECK_FALSE(ModuleReadBack::has(unit, DW_AT_language));
      CHECK_FALSE(ModuleReadBack::holds(unit, base + 0x30)); // between the two
    }
    CHECK(ModuleReadBack::holds(units[0], base + 0x10));
    CHECK(ModuleReadBack::holds(units[0], base + 0x2f));
    CHECK_FALSE(ModuleReadBack::holds(units[0], base + 0xf));
    // A unit without a range of its own would be searched for one.
    CHECK(ModuleReadBack::holds(units[1], 1));
    CHECK_FALSE(ModuleReadBack::holds(units[1], base + 0x10));
  }
}

TEST_CASE(
    "the ten thousand functions of a framework are in small units, which one address needs, and in large "
    "ones, which names need") {
  DebugModule module = module_at(base);
  module.sections[0].end = base + 0x10000;
  for (unsigned i = 0; i < 10'000; ++i) {
    module.code.push_back(code_at(base + i * 4, 4, "M" + std::to_string(i)));
    module.code.back().aliases = {"Type.M" + std::to_string(i)};
  }
  const ModuleReadBack written(module);
  const auto units = written.units();
  std::size_t with_code = 0, without_code = 0;
  for (const Dwarf_Die& unit : units) {
    Dwarf_Die function = ModuleReadBack::children(unit, DW_TAG_subprogram).at(0);
    Dwarf_Addr start = 0;
    REQUIRE(dwarf_lowpc(&function, &start) == 0);
    ++(ModuleReadBack::holds(unit, start) ? with_code : without_code);
  }
  CHECK(with_code == 40);
  CHECK(without_code == 2);
  CHECK(written.functions(true).size() == 10'000);
  CHECK(written.functions(true)[9'999].name == "Ns.Type.M9999()");
  const auto others = written.functions(false);
  REQUIRE(others.size() == 20'000);
  CHECK(others[19'998].name == "Type.M9999");
  CHECK(others[19'999].name == "M9999");
  CHECK(others[19'999].start == base + 9'999 * 4);
}

TEST_CASE("a bare function without a usable full name is shown by another of its names") {
  DebugModule module = module_at(base);
  DebugCode code = code_at(base, 8, "Run");
  code.full_name = "\xff";
  code.aliases = {"Type.Run"};
  module.code = {code, code, code};
  module.code[1].start += 8;
  module.code[1].aliases.clear();
  module.code[2].start += 16;
  module.code[2].aliases.clear();
  module.code[2].name = "\xff";
  const ModuleReadBack written(module);
  CHECK(function_names(written, true) == Names{"Type.Run", "Run"});
  CHECK(function_names(written, false) == Names{"Run"});
  CHECK(written.symbols().empty());
}

TEST_CASE("sections without bytes lie beyond the end of the file, others hold theirs") {
  DebugModule module = module_at(base);
  module.sections.push_back(
      {base + 0x2000, base + 0x2004, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}});
  module.sections.push_back({base + 0x3000, base + 0x3004, {std::byte{1}}}); // not as long as it says
  module.sections.push_back({base + 0x4000, base + 0x4000, {}});             // nothing
  const ModuleReadBack written(module);
  const auto sections = written.sections();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(sections[i].name == (i == 0 ? ".text" : ".text." + std::to_string(i)));
    CHECK(sections[i].header.sh_type == SHT_PROGBITS);
    CHECK(sections[i].header.sh_flags == (SHF_ALLOC | SHF_EXECINSTR));
  }
  CHECK(sections[0].header.sh_addr == base);
  CHECK(sections[0].header.sh_size == 0x1000);
  CHECK(sections[0].header.sh_offset > written.bytes().size());
  CHECK(sections[1].header.sh_addr == base + 0x2000);
  CHECK(written.contents(sections[1]) == module.sections[1].bytes);
  CHECK(sections[2].header.sh_offset > written.bytes().size());
  CHECK(sections[3].name == ".strtab");
}

TEST_CASE("the first section alone has a program header, which is the base of the module") {
  for (const Platform& platform : written_platforms()) {
    DebugModule module = module_at(base, platform);
    module.sections.push_back({base + 0x2000, base + 0x2004, {}});
    const ModuleReadBack written(module);
    CHECK(written.header.e_phnum == 1);
    REQUIRE(written.segments().size() == 1);
    const GElf_Phdr segment = written.segments().front();
    const GElf_Shdr section = written.sections().front().header;
    CHECK(segment.p_type == PT_LOAD);
    CHECK(segment.p_flags == (PF_R | PF_X));
    CHECK(segment.p_vaddr == base);
    CHECK(segment.p_memsz == 0x1000);
    CHECK(segment.p_offset == section.sh_offset);
    CHECK(segment.p_filesz == 0);
  }
}

TEST_CASE("the program header of a section with bytes has them") {
  DebugModule module = module_at(base);
  module.sections = {{base, base + 4, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}}};
  const ModuleReadBack written(module);
  REQUIRE(written.segments().size() == 1);
  CHECK(written.segments().front().p_filesz == 4);
  CHECK(written.segments().front().p_memsz == 4);
  CHECK(written.segments().front().p_offset == written.sections().front().header.sh_offset);
  CHECK(written.contents(written.sections().front()) == module.sections.front().bytes);
}

TEST_CASE("symbols are in the section of their code") {
  DebugModule module = module_at(base);
  module.sections.push_back({base + 0x2000, base + 0x3000, {}});
  module.code = {code_at(base + 0x2000, 8, "<B>"), code_at(base, 8, "<A>")}; // in no order
  for (DebugCode& code : module.code) add_line(module, code);
  const ModuleReadBack written(module);
  const auto symbols = written.symbols();
  REQUIRE(symbols.size() == 4);
  CHECK(symbols[0].name == "Ns.Type.<A>()");
  CHECK(symbols[0].section == 1);
  CHECK(symbols[2].name == "Ns.Type.<B>()");
  CHECK(symbols[2].section == 2);
}

TEST_CASE("code that is no function has one symbol, which no breakpoint by name finds") {
  DebugModule module = module_at(base);
  DebugCode stub = code_at(base, 16, "Precode");
  stub.function = false;
  stub.aliases = {"Type.Run"};
  module.code.push_back(stub);
  const auto symbols = ModuleReadBack(module).symbols();
  REQUIRE(symbols.size() == 1);
  CHECK(symbols[0].name == "Ns.Type.Precode()");
  CHECK(symbols[0].type == STT_OBJECT);
  // With lines it has an entry, under the same name.
  add_line(module, module.code[0]);
  const ModuleReadBack written(module);
  const auto entry = written.find(DW_TAG_subprogram, "Ns.Type.Precode()");
  REQUIRE(entry);
  CHECK_FALSE(ModuleReadBack::has(*entry, DW_AT_linkage_name));
}

TEST_CASE("the short name is a symbol where no entry has it, or LLDB does not look for it there") {
  const auto symbols = [](const std::string& name) {
    DebugModule module = module_at(base);
    module.code.push_back(code_at(base, 16, name));
    add_line(module, module.code[0]);
    return symbol_names(ModuleReadBack(module)).size();
  };
  CHECK(symbols("Run_2") == 1);
  for (const char* name : {".ctor", "<Main>$", "2d", "Grüße", "Run<int>"}) CHECK(symbols(name) == 2);
}

TEST_CASE("a function with lines has its whole name first, its short name last") {
  const auto names = [](const std::string& name, const std::string& full) {
    DebugModule module = module_at(base);
    module.code.push_back(code_at(base, 16, name));
    module.code[0].full_name = full;
    add_line(module, module.code[0]);
    const ModuleReadBack written(module);
    for (Dwarf_Die die : ModuleReadBack::children(written.units().at(0), DW_TAG_subprogram))
      if (!ModuleReadBack::has(die, DW_AT_declaration)) return names_in_order(die);
    return std::vector<std::string>();
  };
  using Names = std::vector<std::string>;
  CHECK(names("Run", "Ns.Type.Run(int)") ==
        Names{"name=Ns.Type.Run(int)", "linkage=Ns.Type.Run(int)", "declared name=Run"});
  CHECK(names("Run", "") == Names{"name=Run"});
  CHECK(names("Run", "Run") == Names{"name=Run", "linkage=Run"});
  CHECK(names("", "Ns.Type.Run(int)") == Names{"name=Ns.Type.Run(int)", "linkage=Ns.Type.Run(int)"});
}

TEST_CASE("code outside of sections, without bytes or over other code is left out") {
  DebugModule module = module_at(base);
  module.code = {code_at(base - 8, 16, "Before"),    code_at(base + 0xff8, 16, "Behind"),
                 code_at(base + 0x2000, 8, "Away"),  code_at(base + 0x10, 0, "Empty"),
                 code_at(base + 0x20, 16, "First"),  code_at(base + 0x28, 16, "Over"),
                 code_at(base + 0x30, 16, "Next"),   code_at(base + 0x40, ~std::uint64_t{0}, "Wraps"),
                 code_at(~Address{0} - 3, 8, "Top"), code_at(base + 0xff0, 16, "Last")};
  CHECK(function_names(ModuleReadBack(module), true) ==
        Names{"Ns.Type.First()", "Ns.Type.Next()", "Ns.Type.Last()"});
  for (DebugCode& code : module.code) add_line(module, code);
  CHECK(symbol_names(ModuleReadBack(module)) == Names{"Ns.Type.First()", "Ns.Type.Next()", "Ns.Type.Last()"});
}

TEST_CASE("code that reaches out of its section is left out") {
  DebugModule module = module_at(base);
  module.sections.push_back({base + 0x1000, base + 0x2000, {}});
  module.code = {code_at(base + 0xff8, 9, "Out"), code_at(base + 0x1ff8, 8, "In")};
  CHECK(function_names(ModuleReadBack(module), true) == Names{"Ns.Type.In()"});
}

TEST_CASE("names that are no UTF-8 are left out, the code is not") {
  DebugModule module = module_at(base);
  DebugCode code = code_at(base, 16, std::string("a\0b", 3));
  code.full_name = "\xff";
  code.aliases = {
      "",      "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80", std::string(max_name_bytes + 1, 'x'),
      "Grüße", "𝒳"};
  add_line(module, code);
  module.code.push_back(code);
  const ModuleReadBack written(module);
  CHECK(symbol_names(written) == Names{"Grüße", "𝒳"});
  CHECK(written.lines().size() == 2);
}

TEST_CASE("a name that is the end of the one before shares its bytes") {
  StringSection names;
  CHECK(names.append_or_share("Ns.Type.Run") == 1);
  CHECK(names.append_or_share("Type.Run") == 4);
  CHECK(names.append_or_share("Run") == 9);
  CHECK(names.append_or_share("Ns.Type.Run") == 1);
  CHECK(names.append_or_share("") == 0);
  CHECK(names.append_or_share("Run()") == 13);
  CHECK(names.append_or_share("Type.Run") == 19); // of the last one only
  CHECK(names.bytes().size() == 28);
}

TEST_CASE("every length of an ASCII name is usable, and none with a NUL anywhere") {
  for (std::size_t size = 1; size < 40; ++size) {
    std::string name(size, 'n');
    CHECK(is_usable_name(name));
    for (std::size_t i = 0; i < size; ++i) {
      for (const char bad : {'\0', '\x80', '\xff'}) {
        name[i] = bad;
        CHECK_FALSE(is_usable_name(name));
      }
      for (const char good : {'\x01', '\x7f'}) {
        name[i] = good;
        CHECK(is_usable_name(name));
      }
      name[i] = 'n';
    }
  }
}

TEST_CASE("a module with an identity has a build id of its own, another has none") {
  for (const Platform& platform : written_platforms()) {
    const auto build_id = [&](std::uint64_t identity) {
      DebugModule module = module_at(base, platform);
      module.identity = identity;
      const ModuleReadBack written(module);
      const auto note = written.section(".note.gnu.build-id");
      if (!note) return std::vector<std::uint8_t>();
      CHECK(note->header.sh_type == SHT_NOTE);
      return find_build_id(written.contents(*note), platform.byte_order, note->header.sh_addralign);
    };
    CHECK(build_id(0).empty());
    CHECK(build_id(1).size() == 16);
    CHECK(build_id(1) == build_id(1));
    CHECK(build_id(1) != build_id(2));
  }
}

TEST_CASE("modules that cannot be are refused") {
  for (const Cpu cpu : {Cpu::unknown, Cpu::x86, Cpu::arm, Cpu::loongarch64, Cpu::riscv64, Cpu::wasm}) {
    try {
      static_cast<void>(write_elf_module(module_at(base, {8, ByteOrder::little, cpu, Os::unix_like})));
      FAIL("written");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported_contract);
    }
  }
  DebugModule module = module_at(base);
  module.sections.push_back({base + 0xfff, base + 0x2000, {}});
  try {
    static_cast<void>(write_elf_module(module));
    FAIL("written");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(error.address() == base + 0xfff);
  }
  module.sections[1].begin = base + 0x1000; // a neighbour
  CHECK_NOTHROW(write_elf_module(module));
}

TEST_CASE("a module of nothing is a file nevertheless") {
  DebugModule module;
  module.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like};
  const ModuleReadBack written(module);
  CHECK(written.symbols().empty());
  CHECK(written.header.e_phnum == 0);
  CHECK_FALSE(written.section(".debug_info"));
  CHECK_FALSE(written.section(".debug_frame"));
}
