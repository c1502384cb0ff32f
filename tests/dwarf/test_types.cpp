#include "core/dwarf/type_check.h"
#include "tests/dwarf/written_module.h"

#include <fmt/format.h>

using namespace clr;

namespace {

using Kind = DebugType::Kind;
constexpr Address base = 0x7000'0000;

DebugModule module_of(std::vector<DebugType> types,
                      Platform platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}) {
  DebugModule module = module_at(base, platform);
  module.types = std::move(types);
  module.code.push_back(code_at(base, 16, "Run"));
  module.code[0].lines = {{.offset = 0, .file = 0, .line = 1}};
  module.files = {"/a.cs"};
  return module;
}

DebugType number(Kind kind, const std::string& name, std::uint32_t size) {
  return {.kind = kind, .name = name, .size = size};
}
DebugType record(Kind kind, const std::string& name, std::uint32_t size, std::vector<DebugField> fields) {
  return {.kind = kind, .name = name, .size = size, .fields = std::move(fields)};
}
DebugType to(Kind kind, DebugTypeIndex element) {
  return {.kind = kind, .size = 8, .element = element};
}

// "Name@offset: type" of each member; "base@offset: type".
std::vector<std::string> members(const ModuleReadBack& written, const std::string& name) {
  const auto type = written.find(DW_TAG_structure_type, name);
  std::vector<std::string> all;
  if (!type) return {"no type"};
  for (Dwarf_Die child : ModuleReadBack::children(*type)) {
    if (dwarf_tag(&child) == DW_TAG_subprogram) continue;
    const auto of = ModuleReadBack::type_of(child);
    all.push_back(fmt::format(
        "{}@{}: {}", dwarf_tag(&child) == DW_TAG_inheritance ? "base" : ModuleReadBack::name_of(child),
        *ModuleReadBack::number_of(child, DW_AT_data_member_location),
        of ? ModuleReadBack::name_of(*of) : "void"));
  }
  return all;
}

std::optional<Dwarf_Word> size_of(const ModuleReadBack& written, const std::string& name) {
  const auto type = written.find(DW_TAG_structure_type, name);
  return type ? ModuleReadBack::number_of(*type, DW_AT_byte_size) : std::nullopt;
}

} // namespace

TEST_CASE("simple types, in both classes and byte orders") {
  for (const Platform& platform : written_platforms()) {
    const ModuleReadBack written(
        module_of({number(Kind::boolean, "bool", 1), number(Kind::signed_integer, "long", 8),
                   number(Kind::unsigned_integer, "byte", 1), number(Kind::floating, "double", 8),
                   number(Kind::character, "char", 2), number(Kind::opaque, "Unknown", 12),
                   number(Kind::signed_integer, "odd", 3), number(Kind::floating, "half", 2),
                   number(Kind::signed_integer, "", 4)},
                  platform));
    const auto check = [&](const std::string& name, unsigned encoding, unsigned size) {
      const auto type = written.find(DW_TAG_base_type, name);
      REQUIRE(type);
      CHECK(ModuleReadBack::number_of(*type, DW_AT_encoding) == encoding);
      CHECK(ModuleReadBack::number_of(*type, DW_AT_byte_size) == size);
    };
    check("bool", DW_ATE_boolean, 1);
    check("long", DW_ATE_signed, 8);
    check("unsigned char", DW_ATE_unsigned, 1); // which byte is another name of
    const auto named = written.find(DW_TAG_typedef, "byte");
    REQUIRE(named);
    CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(*named)) == "unsigned char");
    check("double", DW_ATE_float, 8);
    check("char", DW_ATE_UTF, 2);
    CHECK(size_of(written, "Unknown") == 12);
    CHECK(ModuleReadBack::children(written.units()[0]).size() == 7);
  }
}

TEST_CASE("objects: bases, fields, references, what lies behind the last field") {
  const ModuleReadBack written(module_of(
      {number(Kind::signed_integer, "int", 4),
       record(Kind::object, "System.Object", 24,
              {{.name = "table", .type = 2, .offset = 0, .artificial = true}}),
       to(Kind::pointer, no_debug_type),
       record(Kind::object, "Base", 24, {{.type = 1, .base = true}, {.name = "A", .type = 0, .offset = 8}}),
       record(Kind::object, "Derived", 24,
              {{.name = "B", .type = 0, .offset = 12},
               {.type = 3, .base = true},
               {.name = "Next", .type = 5, .offset = 16}}),
       to(Kind::reference, 4)}));
  CHECK(members(written, "Base") == std::vector<std::string>{"base@0: System.Object", "A@8: int"});
  // Fields of a derived class begin where those of its base end, not where an instance of that would.
  CHECK(size_of(written, "System.Object") == 8);
  CHECK(size_of(written, "Base") == 12);
  CHECK(size_of(written, "Derived") == 24);
  const auto fields = members(written, "Derived");
  CHECK(fields == std::vector<std::string>{"base@0: Base", "B@12: int", "Next@16: "});
  const auto next = ModuleReadBack::children(*written.find(DW_TAG_structure_type, "Derived"))[2];
  auto reference = *ModuleReadBack::type_of(next);
  CHECK(dwarf_tag(&reference) == DW_TAG_reference_type);
  CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(reference)) == "Derived");
  auto table = ModuleReadBack::children(*written.find(DW_TAG_structure_type, "System.Object"))[0];
  CHECK(ModuleReadBack::has(table, DW_AT_artificial));
  auto pointer = *ModuleReadBack::type_of(table);
  CHECK(dwarf_tag(&pointer) == DW_TAG_pointer_type);
  CHECK_FALSE(ModuleReadBack::type_of(pointer));
}

TEST_CASE("objects cannot be assigned to: the operator of their base class is declared only") {
  const ModuleReadBack written(module_of({record(Kind::object, "System.Object", 8, {}),
                                          record(Kind::object, "Derived", 8, {{.type = 0, .base = true}}),
                                          record(Kind::structure, "Value", 8, {})}));
  const auto methods = [&](const std::string& type) {
    std::vector<std::string> names;
    for (Dwarf_Die child : ModuleReadBack::children(*written.find(DW_TAG_structure_type, type)))
      if (dwarf_tag(&child) == DW_TAG_subprogram) {
        names.push_back(ModuleReadBack::name_of(child));
        CHECK(ModuleReadBack::has(child, DW_AT_declaration));
        const auto parameters = ModuleReadBack::children(child);
        REQUIRE(parameters.size() == 2);
        CHECK(ModuleReadBack::has(parameters[0], DW_AT_artificial));
        for (const auto& [parameter, tag] : {std::pair{parameters[0], DW_TAG_pointer_type},
                                             std::pair{parameters[1], DW_TAG_reference_type}}) {
          auto of = *ModuleReadBack::type_of(parameter);
          CHECK(dwarf_tag(&of) == tag);
          CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(of)) == type);
        }
      }
    return names;
  };
  CHECK(methods("System.Object") == std::vector<std::string>{"operator="});
  CHECK(methods("Derived").empty());
  CHECK(methods("Value").empty());
}

TEST_CASE("what points to a reference and elements of arrays are pointers: C++ has no others") {
  const ModuleReadBack written(module_of({record(Kind::object, "Node", 8, {}),
                                          to(Kind::reference, 0),
                                          to(Kind::pointer, 1),
                                          {.kind = Kind::array, .element = 1, .count = 3},
                                          record(Kind::structure, "Holder", 40,
                                                 {{.name = "Ref", .type = 2, .offset = 0},
                                                  {.name = "Items", .type = 3, .offset = 8},
                                                  {.name = "Rest", .type = 5, .offset = 32}}),
                                          {.kind = Kind::array, .element = 1, .count = 0}}));
  CHECK(members(written, "Holder").size() == 3);
  const auto fields = ModuleReadBack::children(*written.find(DW_TAG_structure_type, "Holder"));
  auto byref = *ModuleReadBack::type_of(fields[0]);
  auto inner = *ModuleReadBack::type_of(byref);
  CHECK(dwarf_tag(&byref) == DW_TAG_pointer_type);
  CHECK(dwarf_tag(&inner) == DW_TAG_pointer_type);
  CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(inner)) == "Node");
  auto array = *ModuleReadBack::type_of(fields[1]);
  CHECK(dwarf_tag(&array) == DW_TAG_array_type);
  CHECK(ModuleReadBack::tag_of(*ModuleReadBack::type_of(array)) == DW_TAG_pointer_type);
  CHECK(ModuleReadBack::number_of(ModuleReadBack::children(array)[0], DW_AT_count) == 3);
  CHECK_FALSE(
      ModuleReadBack::has(ModuleReadBack::children(*ModuleReadBack::type_of(fields[2]))[0], DW_AT_count));
}

TEST_CASE("fields that overlap are in a union") {
  const ModuleReadBack written(
      module_of({number(Kind::signed_integer, "int", 4), number(Kind::floating, "double", 8),
                 record(Kind::structure, "T", 32,
                        {{.name = "A", .type = 0, .offset = 4},
                         {.name = "B", .type = 1, .offset = 8},
                         {.name = "C", .type = 1, .offset = 8},
                         {.name = "E", .type = 1, .offset = 12},
                         {.name = "D", .type = 0, .offset = 20}})}));
  const auto fields = ModuleReadBack::children(*written.find(DW_TAG_structure_type, "T"), DW_TAG_member);
  REQUIRE(fields.size() == 3);
  const auto at = [](Dwarf_Die die) { return ModuleReadBack::number_of(die, DW_AT_data_member_location); };
  CHECK(ModuleReadBack::name_of(fields[0]) == "A");
  CHECK(at(fields[0]) == 4);
  CHECK(ModuleReadBack::name_of(fields[1]).empty());
  CHECK(at(fields[1]) == 8);
  CHECK(ModuleReadBack::name_of(fields[2]) == "D");
  CHECK(at(fields[2]) == 20);
  const auto both = *ModuleReadBack::type_of(fields[1]);
  CHECK(ModuleReadBack::tag_of(both) == DW_TAG_union_type);
  CHECK(ModuleReadBack::number_of(both, DW_AT_byte_size) == 12);
  const auto within = ModuleReadBack::children(both, DW_TAG_member);
  REQUIRE(within.size() == 3);
  CHECK(ModuleReadBack::name_of(within[0]) == "B");
  CHECK(ModuleReadBack::name_of(within[1]) == "C");
  CHECK(at(within[1]) == 0);
  CHECK(ModuleReadBack::name_of(within[2]).empty());
  const auto wrapped = *ModuleReadBack::type_of(within[2]);
  CHECK(ModuleReadBack::tag_of(wrapped) == DW_TAG_structure_type);
  const auto last = ModuleReadBack::children(wrapped);
  REQUIRE(last.size() == 1);
  CHECK(ModuleReadBack::name_of(last[0]) == "E");
  CHECK(at(last[0]) == 4);
}

TEST_CASE("fields stand in the order in which they are given, wherever they lie") {
  const ModuleReadBack written(
      module_of({number(Kind::signed_integer, "int", 4), record(Kind::structure, "T", 16,
                                                                {{.name = "C", .type = 0, .offset = 8},
                                                                 {.name = "A", .type = 0, .offset = 0},
                                                                 {.name = "B", .type = 0, .offset = 4}})}));
  CHECK(members(written, "T") == std::vector<std::string>{"C@8: int", "A@0: int", "B@4: int"});
}

TEST_CASE("enumerations") {
  DebugType color{.kind = Kind::enumeration, .name = "Color", .element = 1};
  color.enumerators = {
      {"Red", 0}, {"Green", 200}, {"", 5}, {"Low", std::numeric_limits<std::int64_t>::min()}};
  DebugType of_nothing = color, of_double = color, of_itself = color;
  of_nothing.element = no_debug_type;
  of_double.element = 2;
  of_itself.element = 5;
  const ModuleReadBack written(
      module_of({color, number(Kind::unsigned_integer, "byte", 1), number(Kind::floating, "double", 8),
                 of_nothing, of_double, of_itself}));
  const auto types = ModuleReadBack::children(written.units()[0], DW_TAG_enumeration_type);
  REQUIRE(types.size() == 1);
  CHECK(ModuleReadBack::number_of(types[0], DW_AT_byte_size) == 1);
  std::vector<std::string> values;
  for (Dwarf_Die die : ModuleReadBack::children(types[0])) {
    Dwarf_Attribute attribute;
    Dwarf_Sword value = 0;
    REQUIRE(dwarf_formsdata(dwarf_attr(&die, DW_AT_const_value, &attribute), &value) == 0);
    values.push_back(fmt::format("{}={}", ModuleReadBack::name_of(die), value));
  }
  CHECK(values == std::vector<std::string>{"Red=0", "Green=200", "Low=-9223372036854775808"});
}

TEST_CASE("static fields have names of their own") {
  DebugField field{.name = "<Count>", .type = 0, .offset = 77};
  field.static_address = 0x1234;
  DebugField boxed = field;
  boxed.name = "Boxed";
  boxed.static_boxed = true;
  const ModuleReadBack written(module_of(
      {number(Kind::signed_integer, "int", 4), record(Kind::object, "Ns.T<int>", 8, {field, boxed})}));
  const auto found = written.find(DW_TAG_variable, "Ns_T_int___Count_"),
             other = written.find(DW_TAG_variable, "Ns_T_int__Boxed");
  REQUIRE(found);
  CHECK(ModuleReadBack::places(*found) == std::vector<std::string>{"addr4660"});
  REQUIRE(other);
  CHECK(ModuleReadBack::places(*other) == std::vector<std::string>{"addr4660 deref +8"});
  CHECK(members(written, "Ns.T<int>").empty());
}

TEST_CASE("a value within itself is broken") {
  const ModuleReadBack direct(
      module_of({record(Kind::structure, "Self", 8,
                        {{.name = "Me", .type = 0, .offset = 0}, {.name = "X", .type = 1, .offset = 0}}),
                 number(Kind::signed_integer, "int", 4)}));
  CHECK(members(direct, "Self") == std::vector<std::string>{"X@0: int"});
  const ModuleReadBack around(
      module_of({record(Kind::structure, "A", 8, {{.name = "B", .type = 1, .offset = 0}}),
                 record(Kind::structure, "B", 8, {{.name = "Items", .type = 2, .offset = 0}}),
                 {.kind = Kind::array, .element = 0, .count = 1},
                 record(Kind::object, "C", 8, {{.type = 4, .base = true}}),
                 record(Kind::object, "D", 8, {{.type = 3, .base = true}})}));
  CHECK(members(around, "A").size() + members(around, "B").size() == 1);
  CHECK(members(around, "C").size() + members(around, "D").size() == 1);
}

TEST_CASE("values within values: not too deep, not too many") {
  std::vector<DebugType> deep{number(Kind::signed_integer, "int", 4)};
  for (DebugTypeIndex i = 1; i < 2000; ++i)
    deep.push_back(
        record(Kind::structure, fmt::format("S{}", i), 8, {{.name = "In", .type = i - 1, .offset = 0}}));
  std::ranges::reverse(deep); // the outermost first
  for (DebugType& type : deep)
    for (DebugField& field : type.fields) field.type = 1999 - field.type;
  const TypeCheck check(module_of(deep));
  const auto has = [&](unsigned i) { return check.has_field(1999 - i, 0); };
  CHECK(has(max_value_depth));
  CHECK_FALSE(has(max_value_depth + 1));

  // Each holds the one before twice, at the same place.
  std::vector<DebugType> wide{number(Kind::signed_integer, "int", 4)};
  for (DebugTypeIndex i = 1; i < 30; ++i)
    wide.push_back(
        record(Kind::structure, fmt::format("S{}", i), 8,
               {{.name = "A", .type = i - 1, .offset = 0}, {.name = "B", .type = i - 1, .offset = 0}}));
  const TypeCheck counted(module_of(wide));
  CHECK(counted.has_field(10, 1));
  CHECK_FALSE(counted.has_field(17, 1));
}

TEST_CASE("fields that make no sense are left out, the type is not") {
  const ModuleReadBack written(
      module_of({number(Kind::signed_integer, "int", 4),
                 record(Kind::object, "Base", 16, {{.name = "A", .type = 0, .offset = 12}}),
                 record(Kind::object, "T", 24,
                        {{.type = 1, .base = true},
                         {.type = 1, .base = true}, // a second
                         {.name = "InBase", .type = 0, .offset = 12},
                         {.name = "Beyond", .type = 0, .offset = 21},
                         {.name = "Far", .type = 0, .offset = ~0u},
                         {.name = "Object", .type = 1, .offset = 16},
                         {.name = "Wild", .type = 99, .offset = 16},
                         {.name = "Void", .type = no_debug_type, .offset = 16},
                         {.name = "", .type = 0, .offset = 16},
                         {.name = "Good", .type = 0, .offset = 20}}),
                 record(Kind::structure, "OfObject", 24, {{.type = 1, .base = true}}),
                 {.kind = Kind::array, .element = 0, .count = ~0u},
                 {.kind = Kind::array, .element = 99, .count = 1},
                 record(Kind::structure, "Huge", ~0u, {})}));
  CHECK(members(written, "T") == std::vector<std::string>{"base@0: Base", "Good@20: int"});
  CHECK(members(written, "OfObject").empty());
  CHECK(members(written, "Huge") == std::vector<std::string>{"no type"});
  CHECK(ModuleReadBack::children(written.units()[0], DW_TAG_array_type).empty());
}
