#include "core/dwarf/lines.h"
#include "tests/dwarf/written_module.h"

#include <fmt/format.h>

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;

// "+offset file:line:column", p: end of the prologue, n: no statement, e: end of a sequence.
std::vector<std::string> rows(const ModuleReadBack& written) {
  std::vector<std::string> all;
  for (const auto& row : written.lines())
    all.push_back(fmt::format("+{:x} {}:{}:{}{}{}{}", row.address - base, row.file, row.line, row.column,
                              row.prologue_end ? " p" : "", row.statement ? "" : " n", row.end ? " e" : ""));
  return all;
}

DebugModule module_with(std::vector<DebugLineRow> lines,
                        Platform platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}) {
  DebugModule module = module_at(base, platform);
  module.files = {"/src/a.cs", "/src/b.cs", "/other/c.cs"};
  module.code.push_back(code_at(base + 0x40, 0x400, "Run"));
  module.code[0].lines = std::move(lines);
  return module;
}

} // namespace

TEST_CASE("rows of lines hold at their instructions, in both classes and byte orders") {
  for (const Platform& platform : written_platforms()) {
    const ModuleReadBack written(
        module_with({{.offset = 0, .file = 0, .line = 10, .column = 5},
                     {.offset = 4, .file = 0, .line = 11, .column = 9, .prologue_end = true},
                     {.offset = 6, .file = 1, .line = 2000, .column = 70, .statement = false},
                     {.offset = 0x200, .file = 2, .line = 1},
                     {.offset = 0x3ff, .file = 2, .line = 0}},
                    platform));
    CHECK(rows(written) == std::vector<std::string>{"+40 /src/a.cs:10:5", "+44 /src/a.cs:11:9 p",
                                                    "+46 /src/b.cs:2000:70 n", "+240 /other/c.cs:1:0",
                                                    "+43f /other/c.cs:0:0", "+440 /other/c.cs:0:0 e"});
  }
}

TEST_CASE("every distance of lines and addresses comes back") {
  std::vector<DebugLineRow> lines;
  std::vector<std::string> expected;
  std::uint32_t offset = 0, line = 500;
  for (std::uint32_t step = 1; step < 24; ++step)
    for (int jump = -8; jump < 12; jump += 3) {
      if (offset + step >= 0x3ff0) break;
      offset += step;
      line = static_cast<std::uint32_t>(static_cast<int>(line) + jump);
      lines.push_back({.offset = offset, .file = 0, .line = line});
      expected.push_back(fmt::format("+{:x} /src/a.cs:{}:0", offset + 0x40, line));
    }
  DebugModule module = module_with(lines);
  module.sections[0].end = base + 0x10000;
  module.code[0].size = 0x4000;
  auto found = rows(ModuleReadBack(module));
  CHECK(found.back().ends_with(" e"));
  found.pop_back();
  CHECK(found == expected);
}

TEST_CASE("rows that make no sense are left out") {
  const ModuleReadBack written(module_with({{.offset = 8, .file = 0, .line = 1},
                                            {.offset = 4, .file = 0, .line = 2},     // back
                                            {.offset = 0x400, .file = 0, .line = 3}, // behind the code
                                            {.offset = 10, .file = 7, .line = 4},    // no such file
                                            {.offset = 12, .file = 3, .line = 5},    // no name
                                            {.offset = 14, .file = 0, .line = ~0u},  // no such line
                                            {.offset = 16, .file = 9, .line = 0}, // of no line: needs no file
                                            {.offset = 18, .file = 0, .line = 6, .column = 70'000},
                                            {.offset = ~0u, .file = 0, .line = 7}}));
  CHECK(rows(written) == std::vector<std::string>{"+48 /src/a.cs:1:0", "+50 /src/a.cs:0:0",
                                                  "+52 /src/a.cs:6:0", "+440 /src/a.cs:6:0 e"});
}

TEST_CASE("lines of a file without a usable name keep their numbers") {
  DebugModule module = module_with({{.offset = 0, .file = 0, .line = 1},
                                    {.offset = 4, .file = 1, .line = 70},
                                    {.offset = 8, .file = 1, .line = 71, .prologue_end = true},
                                    {.offset = 12, .file = 3, .line = 72},
                                    {.offset = 16, .file = 2, .line = 9}});
  module.files = {"/src/a.cs", "", "/other/c.cs", std::string("/dev/ze\0ro", 10)};
  CHECK(rows(ModuleReadBack(module)) ==
        std::vector<std::string>{"+40 /src/a.cs:1:0", "+44 ???:70:0", "+48 ???:71:0 p", "+4c ???:72:0",
                                 "+50 /other/c.cs:9:0", "+440 /other/c.cs:9:0 e"});
  // Also where no file of the unit has a name; the unit then has the name of the type.
  module.files = {"", "", "", ""};
  const ModuleReadBack nameless(module);
  CHECK(rows(nameless) == std::vector<std::string>{"+40 ???:1:0", "+44 ???:70:0", "+48 ???:71:0 p",
                                                   "+4c ???:72:0", "+50 ???:9:0", "+440 ???:9:0 e"});
  CHECK(ModuleReadBack::name_of(nameless.units()[0]) == "Ns.Type");
}

TEST_CASE("of several rows at one instruction the last holds, with the prologue's end of any") {
  const ModuleReadBack written(module_with({{.offset = 0, .file = 0, .line = 1},
                                            {.offset = 8, .file = 0, .line = 2, .prologue_end = true},
                                            {.offset = 8, .file = 0, .line = 3},
                                            {.offset = 9, .file = 0, .line = 4}}));
  CHECK(rows(written) == std::vector<std::string>{"+40 /src/a.cs:1:0", "+48 /src/a.cs:3:0 p",
                                                  "+49 /src/a.cs:4:0", "+440 /src/a.cs:4:0 e"});
}

TEST_CASE("code of one unit has one table, with the files that it needs") {
  DebugModule module = module_with({{.offset = 0, .file = 2, .line = 5}});
  module.code.push_back(code_at(base + 0x500, 16, "Other"));
  module.code[1].unit = "Ns.Other";
  module.code[1].lines = {{.offset = 0, .file = 0, .line = 7}};
  module.code.push_back(code_at(base + 0x600, 16, "Again"));
  module.code[2].lines = {{.offset = 0, .file = 1, .line = 9}};
  module.code.push_back(code_at(base + 0x700, 16, "Lineless"));
  const ModuleReadBack written(module);
  const auto units = written.units();
  REQUIRE(units.size() == 4); // the last two are of the function without lines
  CHECK(ModuleReadBack::name_of(units[0]) == "/other/c.cs");
  CHECK(ModuleReadBack::string_of(units[0], DW_AT_comp_dir) == "/other");
  CHECK(ModuleReadBack::name_of(units[1]) == "/src/a.cs");
  CHECK_FALSE(ModuleReadBack::has(units[0], DW_AT_language));
  std::vector<std::string> functions;
  for (Dwarf_Die die : ModuleReadBack::children(units[0])) {
    if (ModuleReadBack::has(die, DW_AT_declaration)) continue;
    functions.push_back(ModuleReadBack::name_of(die) + " " +
                        ModuleReadBack::string_of(die, DW_AT_linkage_name));
    CHECK(dwarf_haspc(&die, functions.size() == 1 ? base + 0x43f : base + 0x60f) == 1);
    CHECK(dwarf_haspc(&die, functions.size() == 1 ? base + 0x440 : base + 0x610) == 0);
  }
  CHECK(functions ==
        std::vector<std::string>{"Ns.Type.Run() Ns.Type.Run()", "Ns.Type.Again() Ns.Type.Again()"});
  CHECK(ModuleReadBack::holds(units[0], base + 0x600));
  CHECK_FALSE(ModuleReadBack::holds(units[0], base + 0x500));
}

TEST_CASE("paths of Windows keep their directories") {
  CHECK(split_path("C:\\src\\a.cs").directory == "C:\\src");
  CHECK(split_path("C:\\src\\a.cs").name == "a.cs");
  CHECK(split_path("/a.cs").directory == "/");
  CHECK(split_path("a.cs").directory.empty());
  CHECK(split_path("/src/").name.empty());
  DebugModule module = module_with({{.offset = 0, .file = 0, .line = 5}});
  module.files = {"C:\\src\\a.cs"};
  const ModuleReadBack written(module);
  CHECK(ModuleReadBack::string_of(written.units()[0], DW_AT_comp_dir) == "C:\\src");
}

TEST_CASE("a function is declared at the line that was said, when it has that line") {
  const auto declared = [](std::uint32_t line) {
    DebugModule module = module_with({{.offset = 0, .file = 0, .line = 3},
                                      {.offset = 4, .file = 2, .line = 12},
                                      {.offset = 8, .file = 2, .line = 13}});
    module.code[0].declaration_line = line;
    const ModuleReadBack written(module);
    auto function = written.find(DW_TAG_subprogram, "Ns.Type.Run()");
    REQUIRE(function);
    int found = 0;
    if (dwarf_decl_line(&*function, &found) != 0) return std::string("none");
    return fmt::format("{}:{}", dwarf_decl_file(&*function), found);
  };
  CHECK(declared(12) == "/other/c.cs:12");
  CHECK(declared(3) == "/src/a.cs:3");
  CHECK(declared(0) == "none");
  CHECK(declared(4) == "none");
}
