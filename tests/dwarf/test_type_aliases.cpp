#include "core/dwarf/alias_tree.h"
#include "tests/dwarf/written_module.h"

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;

DebugModule module_with(std::vector<DebugAlias> aliases) {
  DebugModule module = module_at(base, {8, ByteOrder::little, Cpu::x64, Os::unix_like});
  module.types = {{.kind = DebugType::Kind::object, .name = "Ns.Outer", .size = 8},
                  {.kind = DebugType::Kind::structure, .name = "Ns.Outer.Inner", .size = 24},
                  {.kind = DebugType::Kind::structure, .name = "Cache<int>", .size = 16}};
  module.aliases = std::move(aliases);
  return module;
}

// The scopes and names below `die`: "Ns{Outer}", with the types of a mention as "(Inner)".
std::string tree_of(Dwarf_Die die) {
  std::string text;
  for (Dwarf_Die child : ModuleReadBack::children(die)) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_namespace && tag != DW_TAG_typedef && tag != DW_TAG_structure_type &&
        tag != DW_TAG_subprogram)
      continue;
    text += (text.empty() ? "" : " ") + ModuleReadBack::name_of(child);
    if (tag == DW_TAG_typedef) continue;
    if (tag == DW_TAG_subprogram) {
      for (Dwarf_Die parameter : ModuleReadBack::children(child))
        text += "(" + ModuleReadBack::name_of(*ModuleReadBack::type_of(parameter)) + ")";
    } else if (dwarf_haschildren(&child) == 1) {
      text += "{" + tree_of(child) + "}";
    }
  }
  return text;
}

std::string tree_of(const DebugModule& module) {
  const ModuleReadBack written(module);
  std::string text;
  for (Dwarf_Die unit : written.units()) text += tree_of(unit);
  return text;
}

} // namespace

TEST_CASE("aliases stand in namespaces, each of which is written once") {
  const std::string tree =
      tree_of(module_with({{{"Ns"}, "One", 1}, {{"Ns"}, "Two", 1}, {{"Ns", "Sub"}, "Three", 1}}));
  CHECK(tree.ends_with("Ns{One Sub{Three} Two}"));
}

TEST_CASE("what is within a type is a member of it, and mentioned") {
  const std::vector<DebugAlias> aliases{{{"Ns"}, "Outer", 0}, {{"Ns", "Outer"}, "Inner", 1}};
  DebugModule module = module_with(aliases);
  std::string tree = tree_of(module);
  CHECK(tree.find("Ns.Outer{Inner types(Inner)") != std::string::npos);
  CHECK(tree.ends_with("Ns{Outer}")); // no namespace beside the type: the name would be ambiguous
  module.names_in_types = false;
  tree = tree_of(module);
  CHECK(tree.find("types(") == std::string::npos);
  CHECK(tree.ends_with("Ns{Outer}"));
}

TEST_CASE("a type between two that is not loaded is a structure of its own") {
  const std::string tree = tree_of(module_with({{{"Ns"}, "Outer", 0}, {{"Ns", "Outer", "Mid"}, "Inner", 1}}));
  CHECK(tree.find("Ns.Outer{Mid{Inner types(Inner)} types(Mid)") != std::string::npos);
}

TEST_CASE("a type of no namespace has its own name, and one that C++ can spell") {
  CHECK(tree_of(module_with({{{}, "Cache_int_", 2}})).ends_with("Cache_int_"));
  const std::string same = tree_of(module_with({{{}, "Ns.Outer", 0}}));
  CHECK(same.ends_with(" Ns.Outer.Inner Cache<int>"));
}

TEST_CASE("aliases that no module can have are left out") {
  std::vector<std::string> deep(max_alias_depth, "A");
  const AliasScope tree = alias_tree(module_with({{deep, "One", 0},
                                                  {{"Ns", ""}, "Two", 0},
                                                  {{"Ns"}, "", 0},
                                                  {{"Ns"}, "Three", 0},
                                                  {{"Ns"}, "Three", 1}}));
  REQUIRE(tree.inner.size() == 1);
  REQUIRE(tree.inner.at("Ns").inner.size() == 1);
  CHECK(tree.inner.at("Ns").inner.at("Three").type == 0); // of several the first
  CHECK(homes_of(tree).empty());
}
