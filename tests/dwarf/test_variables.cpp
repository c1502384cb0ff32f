#include "tests/dwarf/written_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;
constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};
constexpr Platform arm64{8, ByteOrder::little, Cpu::arm64, Os::unix_like};
enum : DebugTypeIndex { type_int, type_node, type_node_ref, type_point, type_point_pointer };

VariableLocation in_register(std::uint32_t reg) {
  return {.home = VariableHome::reg, .reg = reg};
}
VariableLocation on_stack(std::uint32_t at, std::int32_t offset, VariableHome home = VariableHome::stack) {
  return {.home = home, .base = at, .offset = offset};
}

DebugModule module_with(std::vector<DebugVariable> variables, Platform platform = x64) {
  DebugModule module = module_at(base, platform);
  module.types.resize(5);
  module.types[type_int] = {.kind = DebugType::Kind::signed_integer, .name = "int", .size = 4};
  module.types[type_node] = {.kind = DebugType::Kind::object, .name = "Ns.Node", .size = 24};
  module.types[type_node].fields = {{.name = "Next", .type = type_node_ref, .offset = 8},
                                    {.name = "Id", .type = type_int, .offset = 16}};
  module.types[type_node_ref] = {.kind = DebugType::Kind::reference, .element = type_node};
  module.types[type_point] = {.kind = DebugType::Kind::structure, .name = "Ns.Point", .size = 8};
  module.types[type_point_pointer] = {.kind = DebugType::Kind::pointer, .element = type_point};
  module.code.push_back(code_at(base + 0x100, 0x80, "Run"));
  module.code[0].variables = std::move(variables);
  module.code[0].return_type = type_int;
  return module;
}

DebugVariable variable(const std::string& name, std::vector<DebugVariableRange> ranges,
                       DebugTypeIndex type = type_int) {
  DebugVariable made;
  made.name = name;
  made.type = type;
  made.ranges = std::move(ranges);
  return made;
}

std::vector<std::string> places(const std::vector<DebugVariableRange>& ranges, Platform platform = x64) {
  const ModuleReadBack written(module_with({variable("v", ranges)}, platform));
  const auto function = written.find(DW_TAG_subprogram, "Ns.Type.Run()");
  REQUIRE(function);
  const auto found = ModuleReadBack::children(*function, DW_TAG_variable);
  REQUIRE(found.size() == 1);
  return ModuleReadBack::places(found[0]);
}

std::string place(const VariableLocation& location, Platform platform = x64,
                  std::vector<std::uint32_t> path = {}) {
  const auto all = places({{0, 0x80, location, std::move(path)}}, platform);
  return all.empty() ? "nowhere" : all[0];
}

} // namespace

TEST_CASE("homes in registers of x64 and arm64") {
  const std::vector<unsigned> numbers{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
  for (unsigned i = 0; i < numbers.size(); ++i)
    CHECK(place(in_register(i)) == fmt::format("reg{}", numbers[i]));
  CHECK(place(in_register(16)) == "nowhere");
  for (unsigned i = 0; i < 32; ++i) CHECK(place(in_register(i), arm64) == fmt::format("reg{}", i));
  CHECK(place(in_register(32), arm64) == "nowhere");
  CHECK(place(in_register(~0u)) == "nowhere");
}

TEST_CASE("homes of every kind") {
  CHECK(place({.home = VariableHome::reg_byref, .reg = 7}) == "5+0");
  CHECK(place(on_stack(5, -20)) == "6-20");
  CHECK(place(on_stack(4, 200)) == "7+200");
  CHECK(place(on_stack(29, 16), arm64) == "29+16");
  CHECK(place(on_stack(5, -8, VariableHome::stack_byref)) == "6-8 deref");
  CHECK(place(on_stack(5, -16, VariableHome::stack2)) == "6-16");
  CHECK(place({.home = VariableHome::reg_reg, .reg = 0, .reg2 = 2}) == "reg0 piece8 reg1 piece8");
  CHECK(place({.home = VariableHome::reg_stack, .reg = 0, .base = 5, .offset = -8}) ==
        "reg0 piece8 6-8 piece8");
  CHECK(place({.home = VariableHome::stack_reg, .reg = 0, .base = 5, .offset = -8}) ==
        "6-8 piece8 reg0 piece8");
  CHECK(place(on_stack(5, std::numeric_limits<std::int32_t>::min())) == "6-2147483648");
}

TEST_CASE("homes in vector registers have the JIT's numbers") {
  const auto in_vector = [](std::uint32_t reg, Platform platform) {
    return place({.home = VariableHome::reg_fp, .reg = reg}, platform);
  };
  for (unsigned i = 0; i < 16; ++i) {
    CHECK(in_vector(16 + i, x64) == fmt::format("reg{}", 17 + i)); // before .NET 10
    CHECK(in_vector(32 + i, x64) == fmt::format("reg{}", 17 + i));
    CHECK(in_vector(i, x64) == "nowhere");
    CHECK(in_vector(48 + i, x64) == "nowhere");
  }
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(in_vector(32 + i, arm64) == fmt::format("reg{}", 64 + i));
    CHECK(in_vector(i, arm64) == "nowhere");
    CHECK(in_vector(64 + i, arm64) == "nowhere");
  }
  CHECK(in_vector(~0u, x64) == "nowhere");
}

TEST_CASE("homes that have no DWARF are nowhere") {
  CHECK(place(on_stack(17, 8)) == "nowhere"); // the ambient stack pointer
  CHECK(place(on_stack(34, 8), arm64) == "nowhere");
  CHECK(place({.home = VariableHome::fp_stack, .index = 1}) == "nowhere");
  CHECK(place({.home = VariableHome::fixed_va, .index = 1}) == "nowhere");
  CHECK(place({.home = VariableHome::reg_reg, .reg = 0, .reg2 = 40}) == "nowhere");
  CHECK(place({.home = static_cast<VariableHome>(77)}) == "nowhere");
}

TEST_CASE("captured variables are found through their closure") {
  CHECK(place(in_register(3), x64, {16}) == "3+16");
  CHECK(place(on_stack(5, -8), x64, {24}) == "6-8 deref +24");
  CHECK(place(on_stack(5, -8), x64, {8, 0, 16}) == "6-8 deref +8 deref deref +16");
  CHECK(place({.home = VariableHome::reg_byref, .reg = 7}, x64, {8}) == "5+0 deref +8");
  CHECK(place(on_stack(5, -8, VariableHome::stack_byref), x64, {8}) == "6-8 deref deref +8");
  CHECK(place({.home = VariableHome::reg_reg, .reg = 0, .reg2 = 2}, x64, {8}) == "nowhere");
  CHECK(place(in_register(3), x64, std::vector<std::uint32_t>(1000, 8)) == "nowhere");
}

TEST_CASE("ranges are lists, in addresses") {
  const Address at = base + 0x100;
  const auto range = [&](unsigned begin, unsigned end, const std::string& what) {
    return fmt::format("{}-{}: {}", at + begin, at + end, what);
  };
  CHECK(places({{0, 8, in_register(7)}, {8, 0x7f, on_stack(5, -8)}}) ==
        std::vector<std::string>{range(0, 8, "reg5"), range(8, 0x7f, "6-8")});
  // Over another, behind the code, backwards, empty, of no home.
  CHECK(places({{4, 8, in_register(7)},
                {6, 10, in_register(1)},
                {0x70, 0x81, in_register(1)},
                {12, 11, in_register(1)},
                {12, 12, in_register(1)},
                {12, 14, in_register(99)},
                {~0u, ~0u, in_register(1)},
                {14, 16, in_register(0)}}) ==
        std::vector<std::string>{range(4, 8, "reg5"), range(14, 16, "reg0")});
  CHECK(places({}).empty());
}

TEST_CASE("places on the stack count from the frame base that they share") {
  const auto written = [](std::vector<DebugVariable> variables) {
    std::vector<std::string> all;
    const ModuleReadBack module(module_with(std::move(variables)));
    const auto function = module.find(DW_TAG_subprogram, "Ns.Type.Run()");
    REQUIRE(function);
    for (const std::string& place : ModuleReadBack::places(*function, DW_AT_frame_base))
      all.push_back("base " + place);
    for (const Dwarf_Die& found : ModuleReadBack::children(*function, DW_TAG_variable)) {
      std::string places;
      for (const std::string& place : ModuleReadBack::places(found))
        places += (places.empty() ? "" : ", ") + place;
      all.push_back(std::move(places));
    }
    return all;
  };
  const Address at = base + 0x100;
  const auto range = [&](unsigned begin, unsigned end, const std::string& what) {
    return fmt::format("{}-{}: {}", at + begin, at + end, what);
  };
  const DebugVariable first = variable("first", {{8, 0x7e, on_stack(5, -8)}}),
                      second = variable("second", {{8, 0x7e, on_stack(5, -16, VariableHome::stack_byref)}});
  // Where the base is nowhere, they are.
  CHECK(written({first, second}) ==
        std::vector<std::string>{"base " + range(8, 0x7e, "6+0"), "base-8", "base-16 deref"});
  CHECK(written({variable("a", {{0, 0x80, on_stack(4, 8)}}), variable("b", {{0, 0x80, on_stack(4, 16)}})}) ==
        std::vector<std::string>{"base 7+0", "base+8", "base+16"});
  // Captured variables, through the closure that lies there.
  CHECK(written({first, variable("captured", {{8, 0x7e, on_stack(5, -24), {8, 16}}})}) ==
        std::vector<std::string>{"base " + range(8, 0x7e, "6+0"), "base-8", "base-24 deref +8 deref +16"});
  // The others keep lists: another range, another register, several places, a register.
  CHECK(written({first, second, variable("a", {{8, 0x7f, on_stack(5, -8)}}),
                 variable("b", {{8, 0x7e, on_stack(4, 8)}}),
                 variable("c", {{8, 0x20, on_stack(5, -8)}, {0x20, 0x7e, on_stack(5, -32)}}),
                 variable("d", {{8, 0x7e, in_register(0)}}), variable("e", {})}) ==
        std::vector<std::string>{"base " + range(8, 0x7e, "6+0"), "base-8", "base-16 deref",
                                 range(8, 0x7f, "6-8"), range(8, 0x7e, "7+8"),
                                 range(8, 0x20, "6-8") + ", " + range(0x20, 0x7e, "6-32"),
                                 range(8, 0x7e, "reg0"), ""});
  // One alone has nothing to share, and what lies beyond the code is nowhere.
  CHECK(written({first}) == std::vector<std::string>{range(8, 0x7e, "6-8")});
  CHECK(written({variable("a", {{8, 0x81, on_stack(5, -8)}}), variable("b", {{8, 0x81, on_stack(5, -8)}})}) ==
        std::vector<std::string>{"", ""});
  CHECK(written({variable("a", {{8, 9, on_stack(17, -8)}}), variable("b", {{8, 9, on_stack(17, -8)}})}) ==
        std::vector<std::string>{"", ""});
}

TEST_CASE("a frame that was interrupted has no base") {
  DebugModule module = module_with(
      {variable("a", {{8, 0x7e, on_stack(5, -8)}}), variable("b", {{8, 0x7e, on_stack(5, -16)}})});
  auto interruption = std::make_shared<DebugInterruption>();
  interruption->offset = 0x20;
  module.code[0].interruptions.push_back(interruption);
  const ModuleReadBack written(module);
  const auto function = written.find(DW_TAG_subprogram, "Ns.Type.Run()");
  REQUIRE(function);
  CHECK_FALSE(ModuleReadBack::has(*function, DW_AT_frame_base));
  CHECK(ModuleReadBack::places(ModuleReadBack::children(*function, DW_TAG_variable).at(0)).size() == 3);
}

TEST_CASE("the same in both classes and byte orders") {
  for (const Platform& platform : written_platforms()) {
    const bool x64_cpu = platform.cpu == Cpu::x64;
    const auto found = places({{0, 8, in_register(1)}, {8, 16, on_stack(x64_cpu ? 5 : 29, -300)}}, platform);
    REQUIRE(found.size() == 2);
    CHECK(found[0] == fmt::format("{}-{}: reg{}", base + 0x100, base + 0x108, x64_cpu ? 2 : 1));
    CHECK(found[1] == fmt::format("{}-{}: {}-300", base + 0x108, base + 0x110, x64_cpu ? 6 : 29));
  }
}

TEST_CASE("parameters, types and scopes") {
  DebugVariable first = variable("first", {{0, 0x80, in_register(7)}}, type_node_ref);
  first.parameter = true;
  DebugVariable local = variable("local", {});
  DebugVariable outer = variable("outer", {});
  outer.scope_begin = 0x10;
  outer.scope_end = 0x60;
  DebugVariable inner = variable("inner", {});
  inner.scope_begin = 0x20;
  inner.scope_end = 0x30;
  DebugVariable beside = inner;
  beside.name = "beside";
  DebugVariable next = variable("inner", {});
  next.scope_begin = 0x30;
  next.scope_end = 0x70; // reaches out of outer
  DebugVariable beyond = variable("beyond", {});
  beyond.scope_begin = 0x80;
  beyond.scope_end = 0x90;
  DebugVariable void_type = variable("void", {}, no_debug_type), object = variable("object", {}, type_node),
                wild = variable("wild", {}, 77), nameless = variable("", {});
  const ModuleReadBack written(
      module_with({first, next, local, inner, outer, beside, beyond, void_type, object, wild, nameless}));
  const auto function = written.find(DW_TAG_subprogram, "Ns.Type.Run()");
  REQUIRE(function);
  CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(*function)) == "int");
  std::vector<std::string> shape;
  const std::function<void(Dwarf_Die, std::string)> walk = [&](Dwarf_Die die, const std::string& indent) {
    for (Dwarf_Die child : ModuleReadBack::children(die)) {
      Dwarf_Addr low = 0, high = 0;
      if (dwarf_tag(&child) == DW_TAG_lexical_block) {
        dwarf_lowpc(&child, &low);
        dwarf_highpc(&child, &high);
        shape.push_back(fmt::format("{}{:x}-{:x}", indent, low - base - 0x100, high - base - 0x100));
        walk(child, indent + "  ");
      } else {
        shape.push_back(indent + (dwarf_tag(&child) == DW_TAG_formal_parameter ? "(" : "") +
                        ModuleReadBack::name_of(child));
      }
    }
  };
  walk(*function, "");
  CHECK(shape == std::vector<std::string>{"(first", "local", "10-60", "  outer", "  20-30", "    inner",
                                          "    beside", "  30-60", "    inner"});
  const auto type = ModuleReadBack::type_of(ModuleReadBack::children(*function, DW_TAG_formal_parameter)[0]);
  REQUIRE(type);
  CHECK(ModuleReadBack::tag_of(*type) == DW_TAG_reference_type);
  CHECK(ModuleReadBack::name_of(*ModuleReadBack::type_of(*type)) == "Ns.Node");
}

TEST_CASE("scopes within scopes without end are cut") {
  std::vector<DebugVariable> many;
  for (unsigned i = 0; i < 60; ++i) {
    many.push_back(variable(fmt::format("v{}", i), {}));
    many.back().scope_begin = i;
    many.back().scope_end = 0x80 - i / 2;
  }
  DebugModule module = module_with(many);
  module.code[0].size = 0x800;
  for (unsigned i = 0; i < 900; ++i) {
    module.code[0].variables.push_back(variable(fmt::format("w{}", i), {}));
    module.code[0].variables.back().scope_begin = i + 1;
    module.code[0].variables.back().scope_end = 0x800 - i;
  }
  const ModuleReadBack written(module);
  std::size_t depth = 0;
  Dwarf_Die die = *written.find(DW_TAG_subprogram, "Ns.Type.Run()");
  for (auto blocks = ModuleReadBack::children(die, DW_TAG_lexical_block); !blocks.empty();
       blocks = ModuleReadBack::children(blocks[0], DW_TAG_lexical_block))
    ++depth;
  CHECK(depth == 63);
}

TEST_CASE("a method with `this` is declared in its class") {
  DebugVariable self = variable("this", {{0, 0x80, in_register(7)}}, type_node_ref);
  self.parameter = self.artificial = true;
  DebugModule module = module_with({self});
  module.code.push_back(code_at(base + 0x200, 0x10, "Move"));
  DebugVariable by_pointer = self;
  by_pointer.type = type_point_pointer;
  module.code[1].variables = {by_pointer};
  module.code.push_back(code_at(base + 0x300, 0x10, "Wrong"));
  DebugVariable of_int = self;
  of_int.type = type_int;
  module.code[2].variables = {of_int};
  const ModuleReadBack written(module);

  const auto run = written.find(DW_TAG_subprogram, "Ns.Type.Run()");
  REQUIRE(run);
  CHECK(ModuleReadBack::string_of(*run, DW_AT_linkage_name) == "Ns.Type.Run()");
  const auto declaration = ModuleReadBack::reference_of(*run, DW_AT_specification);
  REQUIRE(declaration);
  CHECK(ModuleReadBack::has(*declaration, DW_AT_declaration));
  const auto object = ModuleReadBack::reference_of(*run, DW_AT_object_pointer);
  REQUIRE(object);
  CHECK(ModuleReadBack::name_of(*object) == "this");
  CHECK_FALSE(ModuleReadBack::has(*object, DW_AT_artificial)); // else LLDB would not list it
  CHECK(ModuleReadBack::tag_of(*ModuleReadBack::type_of(*object)) == DW_TAG_pointer_type);
  const auto node = written.find(DW_TAG_structure_type, "Ns.Node"),
             point = written.find(DW_TAG_structure_type, "Ns.Point");
  REQUIRE(node);
  const auto declared = ModuleReadBack::children(*node, DW_TAG_subprogram);
  REQUIRE(declared.size() == 2);
  CHECK(ModuleReadBack::name_of(declared[1]) == "operator="); // of a class without a base
  CHECK(ModuleReadBack::offset_of(declared[0]) == ModuleReadBack::offset_of(*declaration));
  const auto parameters = ModuleReadBack::children(declared[0], DW_TAG_formal_parameter);
  REQUIRE(parameters.size() == 1);
  CHECK(ModuleReadBack::has(parameters[0], DW_AT_artificial));
  CHECK(ModuleReadBack::name_of(ModuleReadBack::children(*point, DW_TAG_subprogram).at(0)) == "Move");
  const auto wrong = written.find(DW_TAG_subprogram, "Ns.Type.Wrong()");
  REQUIRE(wrong);
  const auto outside = ModuleReadBack::reference_of(*wrong, DW_AT_specification);
  REQUIRE(outside);
  CHECK_FALSE(ModuleReadBack::has(*outside, DW_AT_object_pointer));
  for (const Dwarf_Die& type : {*node, *point})
    for (Dwarf_Die method : ModuleReadBack::children(type, DW_TAG_subprogram))
      CHECK(ModuleReadBack::offset_of(method) != ModuleReadBack::offset_of(*outside));
}
