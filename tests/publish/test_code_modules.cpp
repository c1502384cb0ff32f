#include "core/publish/code_modules.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

OwnedCode owned_code(std::string owner, Address start, std::uint64_t size, Address range = 1) {
  OwnedCode owned{.owner = std::make_shared<const CodeOwner>(CodeOwner{std::move(owner), 0, false}),
                  .code = {},
                  .range = range,
                  .files = nullptr};
  owned.code->start = start;
  owned.code->size = size;
  return owned;
}

std::vector<OwnedModule> grouped(std::vector<OwnedCode> code, std::size_t* dropped = nullptr,
                                 const std::function<bool(Address, Address)>& between = {}) {
  std::size_t count = 0;
  auto modules = group_code(pointers_to(code), {.cpu = Cpu::x64}, between, count);
  if (dropped != nullptr) *dropped = count;
  return modules;
}

} // namespace

TEST_CASE("modules: neighbours of one assembly share a section, others do not") {
  const auto modules = grouped({owned_code("b.dll", 0x1100, 0x10), owned_code("a.dll", 0x1000, 0x20),
                                owned_code("a.dll", 0x1020, 0x10), owned_code("a.dll", 0x1060, 0x10),
                                owned_code("a.dll", 0x1120, 0x10), owned_code("a.dll", 0x1140, 0x10, 2)});
  REQUIRE(modules.size() == 2);
  const DescribedModule& a = modules[0].module;
  CHECK(a.file_name == "a.dll");
  REQUIRE(a.sections.size() == 3);
  CHECK(a.sections[0].begin == 0x1000);
  CHECK(a.sections[0].end == 0x1070);
  CHECK(a.sections[1].begin == 0x1120);
  CHECK(a.sections[1].end == 0x1130);
  CHECK(a.sections[2].begin == 0x1140); // of another range
  CHECK(a.size() == 5);
  const DescribedModule& b = modules[1].module;
  REQUIRE(b.sections.size() == 1);
  CHECK(b.sections[0].begin == 0x1100);
}

TEST_CASE("modules: far neighbours and those with other code between them have sections of their own") {
  CHECK(grouped({owned_code("a", 0x1000, 0x10), owned_code("a", 0x1010 + max_section_gap, 1)})[0]
            .module.sections.size() == 1);
  CHECK(grouped({owned_code("a", 0x1000, 0x10), owned_code("a", 0x1011 + max_section_gap, 1)})[0]
            .module.sections.size() == 2);
  const auto between = [](Address begin, Address end) { return begin == 0x1010 && end == 0x1020; };
  CHECK(grouped({owned_code("a", 0x1000, 0x10), owned_code("a", 0x1020, 1)}, nullptr, between)[0]
            .module.sections.size() == 2);
}

TEST_CASE("modules: code that reaches into other code ends there; empty code and a second one are dropped") {
  std::size_t dropped = 0;
  OwnedCode liar = owned_code("a", 0x1000, 0x20);
  liar.code->unwind = {{.begin = 0, .end = 8, .rows = {{0, {}}}},
                       {.begin = 8, .end = 0x18, .rows = {{8, {}}, {0x14, {}}}},
                       {.begin = 0x18, .end = 0x20, .rows = {{0x18, {}}}}};
  liar.code->lines = {{.offset = 4}, {.offset = 0x10}};
  const auto modules = grouped({liar, owned_code("b", 0x1010, 0x20), owned_code("a", 0x1000, 5),
                                owned_code("a", ~Address{0} - 3, 8), owned_code("a", 0x2000, 0)},
                               &dropped);
  CHECK(dropped == 4);
  REQUIRE(modules.size() == 2);
  REQUIRE(modules[0].module.size() == 1);
  const DebugBody& cut = modules[0].module[0];
  CHECK(cut.size == 0x10);
  REQUIRE(cut.unwind.size() == 2);
  CHECK(cut.unwind[1].end == 0x10);
  CHECK(cut.unwind[1].rows.size() == 1);
  CHECK(cut.lines.size() == 1);
  REQUIRE(modules[0].module.sections.size() == 1);
  CHECK(modules[0].module.sections[0].end == 0x1010);
  CHECK(modules[1].module[0].size == 0x20);
}

TEST_CASE("modules: one with too many sections is followed by another of the same name") {
  std::vector<OwnedCode> code;
  for (Address i = 0; i < max_sections_of_module + 5; ++i)
    code.push_back(owned_code("a", 0x1000 + i * 0x1000, 16));
  const auto modules = grouped(std::move(code));
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].module.sections.size() == max_sections_of_module);
  CHECK(modules[1].module.sections.size() == 5);
  CHECK(modules[1].module.file_name == "a");
}

TEST_CASE("modules: each names the files that its own lines refer to") {
  const auto files = std::make_shared<SourceFiles>();
  files->names = {"/a.cs", "/b.cs", "/c.cs"};
  OwnedCode one = owned_code("a", 0x1000, 16), other = owned_code("a", 0x1010, 16);
  one.files = other.files = files;
  one.code->lines = {{.offset = 0, .file = 2, .line = 5},
                     {.offset = 4, .file = 0, .line = 0},
                     {.offset = 8, .file = 1, .line = 6}};
  other.code->lines = {{.offset = 0, .file = 2, .line = 9}};
  const auto modules = grouped({one, other});
  REQUIRE(modules.size() == 1);
  const DescribedModule& module = modules[0].module;
  CHECK(module.files == std::vector<std::string>{"/c.cs", "/b.cs"});
  CHECK(module[0].lines[0].file == 0);
  CHECK(module[0].lines[2].file == 1);
  CHECK(module[1].lines[0].file == 0);
}
