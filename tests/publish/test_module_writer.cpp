#include "core/dwarf/elf_module_writer.h"
#include "core/publish/module_writer.h"
#include "core/types/name_format.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>

using namespace clr;

namespace {

DebugModule module_values(std::uint64_t id, std::size_t codes) {
  DebugModule module;
  module.file_name = "m" + std::to_string(id) + ".dll";
  module.platform = {
      .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
  const Address begin = 0x10'0000 * id;
  for (std::size_t i = 0; i < codes; ++i) {
    DebugCode code;
    code.start = begin + i * 16;
    code.size = 16;
    code.name = code.full_name = "method " + std::to_string(i);
    module.code.push_back(std::move(code));
  }
  module.sections = {{.begin = begin, .end = begin + codes * 16, .bytes = {}}};
  return module;
}

CatalogModule module_of(std::uint64_t id, std::size_t codes) {
  return {.id = id, .module = DescribedModule(module_values(id, codes))};
}

// A writer whose bytes are kept.
struct KeepingWriter {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::byte>> elf; // by id
  ModuleWriter writer{[this](const WrittenModule& module, FileParts parts) {
    const std::scoped_lock lock(mutex);
    for (const std::span<const std::byte> part : parts)
      elf[module.id].insert(elf[module.id].end(), part.begin(), part.end());
  }};
};

std::vector<WrittenModule> finish(ModuleWriter& writer) {
  std::vector<WrittenModule> all;
  writer.finish([&](WrittenModule written) { all.push_back(std::move(written)); });
  return all;
}

} // namespace

TEST_CASE("module writer: in order, the same bytes as without a thread") {
  constexpr std::size_t large = ModuleWriter::least_codes;
  const std::vector<std::size_t> sizes = {1, large, 2, large * 4, 3};
  KeepingWriter keeping;
  for (std::size_t i = 0; i < sizes.size(); ++i) keeping.writer.add(module_of(i + 1, sizes[i]));
  const std::vector<WrittenModule> written = finish(keeping.writer);
  REQUIRE(written.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CAPTURE(i);
    const DebugModule values = module_values(i + 1, sizes[i]);
    CHECK(written[i].id == i + 1);
    CHECK(written[i].file_name == values.file_name);
    CHECK(written[i].codes == sizes[i]);
    CHECK(written[i].sections == std::vector<MemoryRange>{{0x10'0000 * (i + 1), sizes[i] * 16}});
    CHECK(written[i].fault.empty());
    CHECK(keeping.elf[i + 1] == write_elf_module(values));
  }
  CHECK(finish(keeping.writer).empty());
}

TEST_CASE("module writer: a module is handed on while later ones are still written") {
  constexpr std::size_t large = ModuleWriter::least_codes;
  constexpr std::chrono::seconds limit(10);
  std::promise<void> second_begun, first_taken;
  std::future<void> begun = second_begun.get_future(), taken = first_taken.get_future();
  bool was_taken = false;
  ModuleWriter writer([&](const WrittenModule& module, FileParts) {
    if (module.id != 2) return;
    second_begun.set_value();
    was_taken = taken.wait_for(limit) == std::future_status::ready;
  });
  writer.add(module_of(1, large));
  writer.add(module_of(2, large));
  CHECK(begun.wait_for(limit) == std::future_status::ready);
  std::vector<std::uint64_t> order;
  writer.finish([&](const WrittenModule& module) {
    order.push_back(module.id);
    if (module.id == 1) first_taken.set_value();
  });
  CHECK(order == std::vector<std::uint64_t>{1, 2});
  CHECK(was_taken);
}

TEST_CASE("module writer: goes on after finish") {
  KeepingWriter keeping;
  keeping.writer.add(module_of(1, ModuleWriter::least_codes));
  CHECK(finish(keeping.writer).size() == 1);
  keeping.writer.add(module_of(2, ModuleWriter::least_codes));
  keeping.writer.add(module_of(3, 1));
  const std::vector<WrittenModule> written = finish(keeping.writer);
  REQUIRE(written.size() == 2);
  CHECK(written[1].id == 3);
}

TEST_CASE("module writer: a module that cannot be written costs no other") {
  KeepingWriter keeping;
  CatalogModule bad = module_of(1, ModuleWriter::least_codes);
  bad.module.platform.cpu = Cpu::x86;
  keeping.writer.add(std::move(bad));
  keeping.writer.add(module_of(2, 1));
  const std::vector<WrittenModule> written = finish(keeping.writer);
  REQUIRE(written.size() == 2);
  CHECK_FALSE(keeping.elf.contains(1));
  CHECK(written[1].fault.empty());
  CHECK(written[0].fault == "no debug information for x86");
  CHECK_FALSE(keeping.elf[2].empty());
}

TEST_CASE("module writer: bytes are used once") {
  std::mutex mutex;
  std::multiset<std::uint64_t> used;
  ModuleWriter writer([&](const WrittenModule& module, FileParts elf) {
    std::vector<std::byte> whole;
    for (const std::span<const std::byte> part : elf) whole.insert(whole.end(), part.begin(), part.end());
    const std::scoped_lock lock(mutex);
    if (whole == write_elf_module(module_values(module.id, ModuleWriter::least_codes)))
      used.insert(module.id);
    if (module.id == 2) throw std::runtime_error("refused");
  });
  for (std::uint64_t id = 1; id <= 3; ++id) writer.add(module_of(id, ModuleWriter::least_codes));
  const std::vector<WrittenModule> written = finish(writer);
  CHECK(used == std::multiset<std::uint64_t>{1, 2, 3});
  REQUIRE(written.size() == 3);
  CHECK(written[0].fault.empty());
  CHECK(written[1].fault == "refused");
}

TEST_CASE("module writer: names that were left are made, and values freed when it is asked for") {
  auto name = std::make_shared<QualifiedMethodName>();
  name->method = "Run";
  const std::weak_ptr<const QualifiedMethodName> watched = name;
  DebugModule expected = module_values(1, 1);
  expected.code[0].name = "Run";
  expected.code[0].full_name = format_full_name(*name);
  DebugModule values = module_values(1, 0);
  values.sections = expected.sections;
  CatalogModule made{.id = 1, .module = DescribedModule(std::move(values))};
  DescribedCode code(expected.code[0]);
  code.set_names(UnspelledName(name));
  made.module.add(std::move(code));
  name.reset();
  bool freed = false;
  {
    KeepingWriter keeping;
    keeping.writer.add(std::move(made));
    REQUIRE(finish(keeping.writer).size() == 1);
    CHECK(keeping.elf[1] == write_elf_module(expected));
    CHECK_FALSE(watched.expired());
    keeping.writer.free_values([&] { freed = watched.expired(); });
  }
  CHECK(freed);
}

TEST_CASE("module writer: may be given up with work left") {
  ModuleWriter writer([](const WrittenModule&, FileParts) {});
  for (std::uint64_t id = 1; id <= 20; ++id) writer.add(module_of(id, ModuleWriter::least_codes * 4));
}
