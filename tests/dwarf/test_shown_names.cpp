// Names of the target that a terminal would obey, in every place of a module that has names: a debugger
// prints them as they are in the file.
#include "core/dwarf/string_section.h"
#include "core/memory/utf8.h"
#include "tests/dwarf/written_module.h"

#include <algorithm>
#include <string_view>

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;
constexpr std::string_view evil = "\x1b]0;evil\n\u202e\u009b", shown = "\\x1b]0;evil\\x0a\\u202e\\u009b";

std::string named(std::string_view name) {
  return std::string(name) + std::string(evil);
}
std::string shows(std::string_view name) {
  return std::string(name) + std::string(shown);
}

DebugCode function(Address start, std::string_view name) {
  DebugCode code = code_at(start, 16, "Run");
  code.name = named(name);
  code.full_name = "Ns.Type." + named(name) + "()";
  code.aliases = {"Ns.Type." + named(name), "Type." + named(name)};
  code.unit = named("Other");
  return code;
}

DebugModule module_of_evil() {
  using Kind = DebugType::Kind;
  DebugModule module = module_at(base);
  module.file_name = named("app.dll");
  module.files = {"/" + named("folder") + "/" + named("file.cs")};
  module.types = {
      {.kind = Kind::signed_integer, .name = "int", .size = 4},
      {.kind = Kind::enumeration, .name = named("Enum"), .element = 0, .enumerators = {{named("one"), 1}}},
      {.kind = Kind::object,
       .name = named("Class"),
       .size = 24,
       .fields = {{.name = named("field"), .type = 0, .offset = 8},
                  {.name = named("static"), .type = 0, .static_address = base + 0x8000}}},
      {.kind = Kind::reference, .size = 8, .element = 2},
      {.kind = Kind::opaque, .name = named("Opaque"), .size = 12}};
  DebugCode with_lines = function(base, "Lined");
  with_lines.lines = {{.offset = 0, .file = 0, .line = 5}};
  DebugVariable self{.name = "this", .type = 3, .parameter = true, .artificial = true};
  with_lines.variables = {self, {.name = named("variable"), .type = 1}};
  module.code = {with_lines, function(base + 0x100, "Bare")};
  DebugCode stub = code_at(base + 0x200, 16, "");
  stub.full_name = named("[stub]");
  stub.function = false;
  module.code.push_back(stub);
  DebugCode lineless = function(base + 0x300, "Lineless");
  lineless.unit = named("Unit"); // without lines it goes by this name
  lineless.variables = {{.name = named("variable"), .type = 1}};
  module.code.push_back(lineless);
  return module;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

} // namespace

TEST_CASE("no name of a module holds what a terminal obeys") {
  const std::vector<std::byte> bytes = write_elf_module(module_of_evil());
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(count_of(file, "\x1b]") == 0);
  CHECK(count_of(file, "evil\n") == 0);
  CHECK(count_of(file, "\u202e") == 0);
  CHECK(count_of(file, "\u009b") == 0);
  CHECK(count_of(file, shown) >= 14);
  // A static's name is an identifier to LLDB.
  CHECK(count_of(file, "Class__0_evil_\\u202e\\u009b_static__0_evil_\\u202e\\u009b") >= 1);
  for (const std::string& name :
       {shows("app.dll"), shows("/folder"), shows("file.cs"), shows("Enum"), shows("one"), shows("Class"),
        shows("field"), shows("Opaque"), shows("Unit"), shows("variable"), shows("[stub]"),
        "Ns.Type." + shows("Lined") + "()", "Ns.Type." + shows("Lined"), "Ns.Type." + shows("Bare") + "()",
        "Type." + shows("Bare"), shows("Bare")}) {
    CAPTURE(name);
    CHECK(count_of(file, name + '\0') >= 1);
  }
}

TEST_CASE("symbols and functions are found by their names as they are shown") {
  const ModuleReadBack written(module_of_evil());
  std::vector<std::string> symbols;
  for (const auto& symbol : written.symbols()) symbols.push_back(symbol.name);
  for (const std::string& name : {"Ns.Type." + shows("Lined") + "()", "Ns.Type." + shows("Lined"),
                                  "Type." + shows("Lined"), shows("Lined"), shows("[stub]")}) {
    CAPTURE(name);
    CHECK(std::ranges::count(symbols, name) == 1);
  }
  CHECK(std::ranges::all_of(symbols, [](const std::string& name) { return is_printable(name); }));
  CHECK(written.find(DW_TAG_structure_type, shows("Class")));
}

TEST_CASE("names that differ in what is shown share no bytes wrongly") {
  StringSection strings;
  const auto at = [&](std::uint32_t offset) {
    return std::string(reinterpret_cast<const char*>(strings.bytes().data()) + offset);
  };
  const std::string whole = "Ns.Ty\x1bpe.Run";
  const std::uint32_t first = strings.append_or_share(whole);
  CHECK(at(first) == "Ns.Ty\\x1bpe.Run");
  const std::uint32_t second = strings.append_or_share(std::string_view(whole).substr(3));
  CHECK(at(second) == "Ty\\x1bpe.Run");
  CHECK(at(strings.append_or_share("Run")) == "Run");
  CHECK(at(strings.add(whole)) == "Ns.Ty\\x1bpe.Run");
}

TEST_CASE("a name that grows by its escapes ends at the limit of names") {
  const std::string most(max_name_bytes, '\x01');
  CHECK(shown_name(most).size() == max_name_bytes);
  CHECK(shown_name(most).starts_with("\\x01\\x01"));
  CHECK(shown_name("Run") == "Run");
}
