#include "core/publish/code_at_places.h"
#include "core/publish/code_catalog.h"
#include "core/publish/range_check.h"
#include "tests/execution/precode_builder.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"
#include "tests/support/out_of_memory_reader.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <new>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform catalog_platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
constexpr Address catalog_heap = 0x2'0000;

// A runtime with a code heap; its MethodDescs cannot be read, so that methods have no names but the address.
struct CatalogProcess {
  ExecutionBuilder builder{catalog_platform};
  ExecutionBuilder::Heap heap = builder.heap(catalog_heap, catalog_heap + 0x8'0000);
  Address descriptor = 0;

  explicit CatalogProcess(const std::vector<Address>& methods, Address desc_of_first = 0x7777'0000) {
    for (const Address start : methods) add(start, start == methods.front() ? desc_of_first : 0x7777'0000);
    builder.types().variable("AppDomain", 0x1234);
    builder.types().variable("ThreadStore", 0); // no threads
    descriptor = builder.types().write_descriptor();
  }
  void add(Address start, Address method_desc = 0x7777'0000) {
    builder.method(heap, {.start = start, .size = 0x50, .method_desc = method_desc});
    builder.memory().at(start).fill(0x50, 0x90);
  }
  Runtime runtime(MemoryReader* memory = nullptr) {
    std::vector<LoadedModule> modules = {{.path = "/usr/share/dotnet/libcoreclr.so",
                                          .base = 0x20'0000,
                                          .size = 0x1'0000,
                                          .build_id = {},
                                          .contract_descriptor = descriptor}};
    return {memory != nullptr ? *memory : builder.memory(), std::move(modules), catalog_platform, nullptr};
  }
};

std::vector<Address> catalog_starts(const CatalogChange& change) {
  std::vector<Address> starts;
  for (const SpelledModule& added : change.added)
    for (const DebugCode& code : added.module.code) starts.push_back(code.start);
  std::sort(starts.begin(), starts.end());
  return starts;
}

const CatalogOptions catalog_options{
    .lines = false, .variables = false, .r2r = true, .stubs = true, .exact = {}};

} // namespace

TEST_CASE("catalog: what is there comes once, then what is new") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog catalog;
  {
    Runtime runtime = process.runtime();
    REQUIRE(runtime.absence() == nullptr);
    const CatalogChange change = catalog.update(runtime, catalog_options);
    CHECK(change.methods == 2);
    CHECK(change.gone.empty());
    CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'1080});
    REQUIRE(change.added.size() == 1);
    const DebugModule& module = change.added[0].module;
    CHECK(module.code[0].size == 0x50);
    CHECK(module.code[0].full_name == "method 0x77770000");
    REQUIRE(module.code[0].unwind.size() == 1);
    CHECK(module.code[0].unwind[0].end == 0x50);
    REQUIRE(module.sections.size() == 1);
    CHECK(module.sections[0].begin == 0x2'1000);
    CHECK(module.sections[0].end == 0x2'10d0);
    CHECK(catalog.update(runtime, catalog_options).added.empty());
  }
  process.add(0x2'2000);
  Runtime runtime = process.runtime();
  const CatalogChange change = catalog.update(runtime, catalog_options);
  CHECK(change.methods == 1);
  CHECK(change.gone.empty());
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'2000});
  CHECK(catalog.update(runtime, catalog_options).methods == 0);
  catalog.clear();
  CHECK(catalog.update(runtime, catalog_options).methods == 3);
}

TEST_CASE("catalog: freed and replaced code takes its module away, and the rest comes again") {
  CatalogProcess before({0x2'1000, 0x2'1080, 0x2'3000});
  CodeCatalog catalog;
  Runtime first = before.runtime();
  REQUIRE(first.absence() == nullptr);
  const CatalogChange all = catalog.update(first, catalog_options);
  REQUIRE(all.added.size() == 1);

  CatalogProcess freed({0x2'1000, 0x2'3000});
  Runtime second = freed.runtime();
  const CatalogChange change = catalog.update(second, catalog_options);
  CHECK(change.gone == std::vector<std::uint64_t>{all.added[0].id});
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'3000});

  // The body at the same place is another method's.
  CatalogProcess replaced({0x2'1000, 0x2'3000}, 0x7777'1000);
  replaced.add(0x2'4000);
  Runtime third = replaced.runtime();
  const CatalogChange again = catalog.update(third, catalog_options);
  REQUIRE(change.added.size() == 1);
  CHECK(again.gone == std::vector<std::uint64_t>{change.added[0].id});
  CHECK(catalog_starts(again) == std::vector<Address>{0x2'1000, 0x2'3000, 0x2'4000});
}

TEST_CASE("catalog: code that comes as other code of its heap goes") {
  CatalogProcess before({0x2'1000, 0x2'1080, 0x2'3000});
  CodeCatalog catalog;
  Runtime first = before.runtime();
  const CatalogChange all = catalog.update(first, catalog_options);
  REQUIRE(all.added.size() == 1);
  CatalogProcess after({0x2'1000, 0x2'3000, 0x2'4000});
  Runtime second = after.runtime();
  const CatalogChange change = catalog.update(second, catalog_options);
  CHECK(change.gone == std::vector<std::uint64_t>{all.added[0].id});
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'3000, 0x2'4000});
}

TEST_CASE("catalog: one body by an address in it") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  REQUIRE(runtime.absence() == nullptr);
  CHECK(catalog_starts(catalog.add(runtime, 0x2'10a0, catalog_options)) == std::vector<Address>{0x2'1080});
  CHECK(catalog.add(runtime, 0x2'1080, catalog_options).added.empty());
  CHECK(catalog.add(runtime, 0x10, catalog_options).added.empty());
  const CatalogChange rest = catalog.update(runtime, catalog_options);
  CHECK(rest.gone.empty());
  CHECK(catalog_starts(rest) == std::vector<Address>{0x2'1000});
}

TEST_CASE("catalog: a call that gives up is continued by the next") {
  std::vector<Address> starts;
  for (Address i = 0; i < 600; ++i) starts.push_back(0x2'1000 + i * 0x100);
  CatalogProcess process(starts);
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  REQUIRE(runtime.absence() == nullptr);
  unsigned asked = 0;
  CatalogOptions options = catalog_options;
  options.stop = [&] { return ++asked == 6; };
  const CatalogChange part = catalog.update(runtime, options);
  CHECK(part.methods < 600);
  CHECK_FALSE(part.complete);
  CHECK(part.problems.empty());
  const CatalogChange rest = catalog.update(runtime, catalog_options);
  CHECK(part.methods + rest.methods == 600);
  CHECK(rest.gone.empty());
  std::vector<Address> all = catalog_starts(part);
  const std::vector<Address> more = catalog_starts(rest);
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  CHECK(all == starts);
}

TEST_CASE("catalog: code is described anew when a thread stands in an epilogue that LLDB does not work out") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  process.builder.memory().at(0x2'1020).u8(0x5D).u8(0xFF).u8(0x25).u32(0); // pop rbp; jmp [rip]
  process.builder.memory().at(0x2'10A0).u8(0x5D).u8(0xC3);                 // pop rbp; ret
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  const CatalogChange first = catalog.update(runtime, catalog_options);
  REQUIRE(first.added.size() == 1);
  CHECK_FALSE(first.added[0].module.code.at(0).unwind.at(0).exact);
  CatalogOptions options = catalog_options;
  options.exact = {0x2'1010, 0x2'10A0, 0x2'10A1, 0x10};
  CHECK(catalog.update(runtime, options).gone.empty());
  options.exact.push_back(0x2'1021);
  const CatalogChange change = catalog.update(runtime, options);
  CHECK(change.gone == std::vector<std::uint64_t>{first.added[0].id});
  REQUIRE(change.added.size() == 1);
  CHECK(change.added[0].module.code.at(0).unwind.at(0).exact);
  // Once: the thread may stay there.
  CHECK(catalog.update(runtime, options).gone.empty());
  // Nothing of it is kept behind clear().
  catalog.clear();
  const CatalogChange again = catalog.update(runtime, catalog_options);
  CHECK_FALSE(again.added.at(0).module.code.at(0).unwind.at(0).exact);
}

TEST_CASE("catalog: stubs between methods have names and a rule") {
  CatalogProcess process({0x2'1000});
  process.builder.stub(process.heap, 0x2'1080, 0x40, 1);
  process.add(0x2'1100);
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  REQUIRE(runtime.absence() == nullptr);
  const CatalogChange change = catalog.update(runtime, catalog_options);
  const DebugModule* stubs = nullptr;
  for (const SpelledModule& added : change.added)
    if (added.module.file_name == "clr-stubs") stubs = &added.module;
  REQUIRE(stubs != nullptr);
  REQUIRE(stubs->code.size() == 1);
  CHECK(stubs->code[0].start == 0x2'1080);
  CHECK(stubs->code[0].start + stubs->code[0].size == 0x2'1100 - 8);
  CHECK(stubs->code[0].full_name == "[jump stub]");
  CHECK(catalog.update(runtime, catalog_options).added.empty());
}

TEST_CASE("catalog: while a heap grows its last stubs leave room for the next method") {
  CatalogProcess process({0x2'1000});
  process.builder.stub(process.heap, 0x2'1080, 0x300, 1);
  CodeCatalog catalog;
  CatalogOptions options = catalog_options;
  options.grows = true;
  {
    Runtime runtime = process.runtime();
    Address end = 0;
    for (const SpelledModule& added : catalog.update(runtime, options).added)
      if (added.module.file_name == "clr-stubs")
        end = added.module.code.front().start + added.module.code.front().size;
    CHECK(end ==
          0x2'1300); // the nibble map marks no more, and tells no more than that it ends before 0x2'1400
  }
  process.add(0x2'13c0);
  Runtime runtime = process.runtime();
  const CatalogChange change = catalog.add(runtime, 0x2'13d0, options);
  CHECK(change.methods == 1);
  CHECK(change.gone.size() == 1); // what was unknown code
}

TEST_CASE("catalog: whichever read fails, no body is wrong") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog whole;
  Runtime sound = process.runtime();
  REQUIRE(sound.absence() == nullptr);
  const CatalogChange expected = whole.update(sound, catalog_options);
  for_each_failing_read(process.builder.memory(), [&](MemoryReader& memory, std::uint64_t k) {
    CAPTURE(k);
    Runtime runtime = process.runtime(&memory);
    CodeCatalog catalog;
    const CatalogChange change = catalog.update(runtime, catalog_options);
    for (const SpelledModule& added : change.added)
      for (const DebugCode& code : added.module.code) {
        CHECK((code.start == 0x2'1000 || code.start == 0x2'1080));
        CHECK(code.size == 0x50);
        CHECK(code.full_name == "method 0x77770000");
      }
    if (k == 0) CHECK(catalog_starts(change) == catalog_starts(expected));
  });
}

TEST_CASE("catalog: modules are handed over as they are made") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  Runtime runtime = process.runtime();
  CodeCatalog catalog;
  std::vector<CatalogModule> taken;
  CatalogOptions options = catalog_options;
  options.made = [&](CatalogModule made) { taken.push_back(std::move(made)); };
  const CatalogChange change = catalog.update(runtime, options);
  CHECK(change.added.empty());
  CHECK(change.methods == 2);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].module.size() == 2);
  CHECK(taken[0].module.spell().code.at(0).full_name == "method 0x77770000");
  CHECK(catalog.update(runtime, options).methods == 0);
  CHECK(taken.size() == 1);
}

TEST_CASE("catalog: modules are made before all code is described, and are the same") {
  // Between the first two lies a stub, of an owner that has too little for a module before the end.
  CatalogProcess process(
      {0x2'1000, 0x2'1100, 0x2'1180, 0x2'1200, 0x2'1280, 0x2'1300, 0x2'1380, 0x2'1400, 0x2'1480});
  process.builder.stub(process.heap, 0x2'1080, 0x40, 1);
  ExecutionBuilder::Heap second = process.builder.heap(0xa'0000, 0xb'0000);
  for (Address start = 0xa'1000; start < 0xa'1200; start += 0x80) {
    process.builder.method(second, {.start = start, .size = 0x50, .method_desc = 0x7777'0000});
    process.builder.memory().at(start).fill(0x50, 0x90);
  }
  const auto publish = [&](std::size_t at_once) {
    Runtime runtime = process.runtime();
    CodeCatalog catalog;
    CatalogOptions options = catalog_options;
    options.codes_at_once = at_once;
    CatalogChange change = catalog.update(runtime, options);
    CHECK(change.problems.empty());
    return change;
  };
  const CatalogChange whole = publish(1'000), parts = publish(8);
  CHECK(whole.added.size() == 2);
  REQUIRE(parts.added.size() == 3);
  CHECK(parts.added[0].module.code.size() == 9);
  CHECK(parts.added[0].module.sections.size() == 2); // before and behind the stub
  CHECK(catalog_starts(parts).size() == 14);
  CHECK(catalog_starts(parts) == catalog_starts(whole));
  const auto sections = [](const CatalogChange& change) {
    std::size_t count = 0;
    for (const SpelledModule& added : change.added) count += added.module.sections.size();
    return count;
  };
  CHECK(sections(parts) == sections(whole));
}

namespace {

struct UnknownSpan {
  std::string name;
  Address begin = 0, end = 0;
  friend bool operator==(const UnknownSpan&, const UnknownSpan&) = default;
  friend std::ostream& operator<<(std::ostream& out, const UnknownSpan& span) {
    return out << span.name << std::hex << " [" << span.begin << ", " << span.end << ")";
  }
};

std::vector<UnknownSpan> unknown_spans(const CatalogChange& change) {
  std::vector<UnknownSpan> spans;
  for (const SpelledModule& added : change.added) {
    if (!added.unknown) continue;
    REQUIRE(added.module.code.size() == 1);
    const DebugCode& code = added.module.code[0];
    spans.push_back({code.full_name, code.start, code.start + code.size});
    CHECK_FALSE(code.function);
  }
  return spans;
}

} // namespace

TEST_CASE("catalog: what a heap has free is unknown code, until code comes to lie there") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog catalog;
  CatalogOptions options = catalog_options;
  options.grows = true;
  std::uint64_t rest = 0;
  {
    Runtime runtime = process.runtime();
    const CatalogChange change = catalog.update(runtime, options);
    CHECK(change.methods == 2);
    CHECK(unknown_spans(change) == std::vector<UnknownSpan>{{"[code heap]", 0x2'10d0, 0xa'0000}});
    for (const SpelledModule& added : change.added)
      if (added.unknown) {
        rest = added.id;
        REQUIRE(added.module.code[0].unwind.size() == 1);
        CHECK(added.module.code[0].unwind[0].guessed);
        CHECK(added.module.code[0].unwind[0].end == 0xa'0000 - 0x2'10d0);
      }
    CHECK(catalog.update(runtime, options).added.empty());
  }
  // By one body that was compiled just now.
  process.add(0x2'2000);
  {
    Runtime runtime = process.runtime();
    const CatalogChange change = catalog.add(runtime, 0x2'2010, options);
    CHECK(change.methods == 1);
    CHECK(change.gone == std::vector<std::uint64_t>{rest});
    CHECK(unknown_spans(change) == std::vector<UnknownSpan>{{"[code heap]", 0x2'2050, 0xa'0000}});
    CHECK(catalog.add(runtime, 0x2'2010, options).added.empty());
  }
  // By all.
  process.add(0x2'3000);
  process.add(0x9'ff80); // behind it too little is left
  Runtime runtime = process.runtime();
  const CatalogChange change = catalog.update(runtime, options);
  CHECK(change.methods == 2);
  CHECK(change.gone.size() == 1);
  CHECK(unknown_spans(change) == std::vector<UnknownSpan>{{"[code heap]", 0x9'ffd0, 0xa'0000}});
  CHECK(unknown_spans(catalog.update(runtime, catalog_options)).empty());
}

TEST_CASE("catalog: executable memory of no section is unknown code, call counting stubs are named") {
  CatalogProcess process({0x2'1000});
  constexpr Address counting = 0xc'0000, other = 0xd'0000;
  process.builder.memory().at(counting).bytes({0x48, 0x8B, 0x05, 0xF9, 0x0F, 0,    0,    0x66,
                                               0xFF, 0x08, 0x74, 0x06, 0xFF, 0x25, 0xF6, 0x0F,
                                               0,    0,    0xFF, 0x25, 0xF8, 0x0F, 0,    0});
  process.builder.memory().at(counting + 0x1000).fill(0x20, 0);
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  CatalogOptions options = catalog_options;
  CHECK(unknown_spans(catalog.update(runtime, options)).empty());
  // The second is the heap's.
  options.executable = {{0x1'0000, 0}, {0x2'0000, 0x1000}, {counting, 0x1000}, {other, 0x2000}};
  const CatalogChange change = catalog.add_unknown(runtime, options);
  CHECK(change.gone.empty());
  CHECK(unknown_spans(change) ==
        std::vector<UnknownSpan>{{"[call counting stub]", counting, counting + 0x1000},
                                 {"[unknown code]", other, other + 0x2000}});
  CHECK(catalog.add_unknown(runtime, options).added.empty());
}

TEST_CASE("catalog: what an update that gave up found in other heaps is described by the next") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  ExecutionBuilder::Heap second = process.builder.heap(0xa'0000, 0xb'0000);
  for (Address start = 0xa'1000; start < 0xa'1000 + 200 * 0x80; start += 0x80)
    process.builder.method(second, {.start = start, .size = 0x50, .method_desc = 0x7777'0000});
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  CatalogOptions options = catalog_options;
  options.stop = [] { return true; };
  CHECK(catalog.update(runtime, options).methods == 0); // in the middle of the second heap
  CHECK(catalog.update(runtime, catalog_options).methods == 202);
}

TEST_CASE("catalog: an update that runs out of memory ends, and the next one begins anew") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  process.builder.stub(process.heap, 0x2'1100, 0x40, 1);
  CatalogProcess more({0x2'1000, 0x2'1080, 0x2'2000});
  more.builder.stub(more.heap, 0x2'1100, 0x40, 1);
  std::uint64_t ended = 0;
  for (std::uint64_t at = 1; at < 10'000; ++at) {
    CAPTURE(at);
    CodeCatalog catalog;
    std::vector<std::uint64_t> published;
    CatalogOptions options = catalog_options;
    options.made = [&](const CatalogModule& made) { published.push_back(made.id); };
    Runtime first = process.runtime();
    catalog.update(first, options);
    REQUIRE_FALSE(published.empty());
    OutOfMemoryReader memory(more.builder.memory(), 0);
    OutOfMemoryReader counted(more.builder.memory(), at);
    Runtime second = more.runtime(&counted);
    if (second.absence() != nullptr) continue; // the search for the runtime ended
    bool threw = false;
    try {
      catalog.update(second, options);
    } catch (const std::bad_alloc&) {
      threw = true;
      ++ended;
    }
    if (counted.reads() < at) break;
    if (!threw) continue;
    Runtime third = more.runtime(&memory);
    const CatalogChange change = catalog.update(third, catalog_options);
    CHECK(change.problems.empty());
    CHECK(change.methods == 3);
    CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'1080, 0x2'1100, 0x2'2000});
    // The caller may have published any of these.
    for (const std::uint64_t id : published)
      CHECK(std::count(change.gone.begin(), change.gone.end(), id) == 1);
  }
  CHECK(ended > 5);
}

namespace {

struct StubRange {
  Address begin = 0, end = 0;
};

// The stubs that are published of these range lists, and what is told of the others.
CatalogChange publish_stubs(CodeCatalog& catalog, CatalogProcess& process,
                            const std::vector<StubRange>& ranges) {
  for (const StubRange& range : ranges)
    process.builder.section({.begin = range.begin,
                             .end = range.end,
                             .flags = RangeSection::range_list_flag,
                             .range_list = 0x5550'0000});
  Runtime runtime = process.runtime();
  return catalog.update(runtime, catalog_options);
}

std::vector<std::string> texts_of(const Omissions& missing) {
  std::vector<std::string> texts;
  for (const Omissions::Group& group : missing.groups())
    for (const Omission& omission : group.examples)
      texts.push_back(fmt::format("{} {}: {}", to_string(group.cause), omission.of, omission.text));
  return texts;
}

} // namespace

TEST_CASE("catalog: a range list that lies is not published") {
  // libcoreclr.so lies at [0x20'0000, 0x21'0000).
  constexpr Address good = 0xc0'0000, large = 0x1000'0000;
  CatalogProcess process({0x2'1000});
  process.builder.memory().at(good + 0x4000).fill(0x10, 0x90); // its first pages are missing
  process.builder.memory().at(0x1f'f000).fill(0x10, 0x90);
  process.builder.memory().at(large).fill(0x10, 0x90);
  CodeCatalog catalog;
  const CatalogChange change = publish_stubs(catalog, process,
                                             {{good, good + 0x8000},
                                              {0x1f'0000, 0x20'0001},
                                              {0x20'8000, 0x20'9000},
                                              {0xe0'0000, 0xe1'0000},
                                              {large, large + RangeCheck::max_stubs + 0x1000}});
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, good});
  CHECK(change.problems.empty());
  CHECK(texts_of(catalog.omissions()) ==
        std::vector<std::string>{"not_ours stubs at 0x1f0000: libcoreclr.so",
                                 "not_ours stubs at 0x208000: libcoreclr.so",
                                 "unreadable stubs at 0xe00000: 65536 bytes",
                                 fmt::format("limit stubs at 0x10000000: {} bytes; {} are believed at most",
                                             RangeCheck::max_stubs + 0x1000, RangeCheck::max_stubs)});
  // Each update looks again, and tells of each once.
  Runtime runtime = process.runtime();
  CHECK(catalog.update(runtime, catalog_options).added.empty());
  CHECK(catalog.omissions().count() == 4);
  catalog.clear();
  CHECK(catalog.omissions().empty());
}

TEST_CASE("catalog: stubs of the largest believed size are published") {
  constexpr Address begin = 0x1000'0000;
  CatalogProcess process({0x2'1000});
  process.builder.memory().at(begin).fill(0x10, 0x90);
  CodeCatalog catalog;
  const CatalogChange change = publish_stubs(catalog, process, {{begin, begin + RangeCheck::max_stubs}});
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, begin});
  CHECK(catalog.omissions().empty());
}

TEST_CASE("catalog: a body that leaves its heap is not published, and the others are") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  const auto add_lying = [&](Address start, std::uint64_t size) {
    const Address header =
        process.builder.method(process.heap, {.start = start, .size = 0x50, .method_desc = 0x7777'0000});
    const auto field = [&](std::string_view name) {
      return header + static_cast<Address>(process.builder.types().offset("RealCodeHeader", name));
    };
    process.builder.memory()
        .at(field("GCInfo"))
        .pointer(process.builder.memory().place(gc_info_bytes(Cpu::x64, 4, size)));
    process.builder.memory().at(field("NumUnwindInfos")).u32(0); // else they contradict
  };
  add_lying(0x2'3000, 0x8'0000);
  add_lying(0x2'4000, RangeCheck::max_body + 1);
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  const CatalogChange change = catalog.update(runtime, catalog_options);
  CHECK(change.methods == 2);
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'1080});
  CHECK(
      texts_of(catalog.omissions()) ==
      std::vector<std::string>{"outside method 0x77770000 at 0x23000: it ends at 0xa3000, its section has "
                               "[0x20000, 0xa0000)",
                               "limit method 0x77770000 at 0x24000: 67108865 bytes; 67108864 are believed at "
                               "most"});
}

TEST_CASE("catalog: the rest of a heap whose end lies is no unknown code") {
  // One changed word lets the heap reach over libcoreclr.so.
  CatalogProcess process({0x2'1000});
  ExecutionBuilder::Heap lying = process.builder.heap(0x18'0000, 0x28'0000);
  process.builder.method(lying, {.start = 0x18'1000, .size = 0x50, .method_desc = 0x7777'0000});
  CodeCatalog catalog;
  CatalogOptions options = catalog_options;
  options.grows = true;
  Runtime runtime = process.runtime();
  const CatalogChange change = catalog.update(runtime, options);
  CHECK(change.methods == 2);
  CHECK(unknown_spans(change) == std::vector<UnknownSpan>{{"[code heap]", 0x2'1050, 0xa'0000}});
  CHECK(texts_of(catalog.omissions()) ==
        std::vector<std::string>{"not_ours memory at 0x181050: libcoreclr.so"});
}

TEST_CASE("catalog: the code at given places alone, and what is left out comes later beside it") {
  // Between the first and the third lies another body, within the gap that a section may reach over.
  CatalogProcess process({0x2'1000, 0x2'1080, 0x2'1100, 0x2'1180});
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  const std::vector<Address> places{0x2'1010, 0x2'1020, 0x2'1100, 0x2'10f0, 0x10};
  const CatalogChange part = catalog.add(runtime, places, catalog_options);
  CHECK(part.problems.empty());
  CHECK(part.methods == 2);
  CHECK_FALSE(part.everything);
  CHECK(catalog_starts(part) == std::vector<Address>{0x2'1000, 0x2'1100});
  REQUIRE(part.added.size() == 1);
  REQUIRE(part.added[0].module.sections.size() == 2);
  CHECK(part.added[0].module.sections[0].end == 0x2'1050);
  CHECK(catalog.add(runtime, places, catalog_options).added.empty());
  const CatalogChange rest = catalog.update(runtime, catalog_options);
  CHECK(rest.everything);
  CHECK(rest.gone.empty());
  CHECK(catalog_starts(rest) == std::vector<Address>{0x2'1080, 0x2'1180});
  CHECK(catalog.update(runtime, catalog_options).methods == 0);
}

TEST_CASE("catalog: of given places the stubs") {
  CatalogProcess process({0x2'1000});
  process.builder.stub(process.heap, 0x2'1080, 0x40, 1);
  process.add(0x2'1100);
  constexpr Address list = 0xc0'0000, other = 0xd0'0000;
  for (const Address begin : {list, other}) {
    process.builder.memory().at(begin).fill(0x10, 0x90);
    process.builder.section({.begin = begin,
                             .end = begin + 0x1000,
                             .flags = RangeSection::range_list_flag,
                             .range_list = 0x5550'0000});
  }
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  CHECK(catalog_starts(catalog.add(runtime, std::vector<Address>{0x2'1090}, catalog_options)) ==
        std::vector<Address>{0x2'1080});
  CHECK(catalog_starts(catalog.add(runtime, std::vector<Address>{list + 0x20}, catalog_options)) ==
        std::vector<Address>{list});
  CHECK(catalog_starts(catalog.update(runtime, catalog_options)) ==
        std::vector<Address>{0x2'1000, 0x2'1100, other});
}

namespace {

// Three precodes, and another range list of stubs.
struct PrecodeProcess {
  static constexpr Address other = 0xd0'0000;
  PrecodeBuilder precodes{catalog_platform, 3};
  ExecutionBuilder& builder = precodes.b;
  std::vector<Address> entries;
  Address begin = 0, end = 0; // of the list of the precodes
  std::vector<LoadedModule> modules;

  PrecodeProcess() {
    auto heap = builder.heap(catalog_heap, catalog_heap + 0x8'0000);
    builder.stub(heap, 0x2'1080, 0x40, 1);
    for (unsigned i = 0; i < 3; ++i) {
      entries.push_back(precodes.precode(i, true, 0));
      builder.types().set(precodes.data_of(entries[i]), "FixupPrecodeData", "MethodDesc",
                          0x7777'0000 + i * 16);
    }
    begin = entries[0];
    end = begin + 0x8000;
    builder.memory().at(other).fill(0x10, 0x90);
    for (const auto& [from, to] : {std::pair(begin, end), std::pair(other, other + 0x1000)})
      builder.section(
          {.begin = from, .end = to, .flags = RangeSection::range_list_flag, .range_list = 0x5550'0000});
    builder.types().variable("AppDomain", 0x1234);
    builder.types().variable("ThreadStore", 0);
    modules = {{.path = "/usr/share/dotnet/libcoreclr.so",
                .base = 0x20'0000,
                .size = 0x1'0000,
                .build_id = {},
                .contract_descriptor = builder.types().write_descriptor()}};
  }
  Runtime runtime() { return Runtime(builder.memory(), modules, catalog_platform, nullptr); }
};

// The stubs of a change: start, end and name of each.
std::vector<std::string> stubs_of(const CatalogChange& change) {
  std::vector<std::string> all;
  for (const SpelledModule& added : change.added)
    for (const DebugCode& code : added.module.code)
      all.push_back(fmt::format("{:#x} {:#x} {}", code.start, code.start + code.size, code.full_name));
  return all;
}

} // namespace

TEST_CASE("catalog: precodes at given places have the names of their methods") {
  PrecodeProcess process;
  const auto& [precodes, builder, entries, begin, end, modules] = process;
  constexpr Address other = PrecodeProcess::other;
  Runtime runtime = process.runtime();
  REQUIRE(runtime.absence() == nullptr);
  CodeCatalog catalog;
  const CatalogChange whole = catalog.update(runtime, catalog_options);
  CHECK(stubs_of(whole).size() == 3);
  CHECK(whole.added.size() == 2); // those of lists by themselves
  const Address cell = precodes.data_of(entries[1]);
  const CatalogChange named =
      catalog.add(runtime, std::vector<Address>{cell, entries[0], entries[1] + 0x600}, catalog_options);
  CHECK(named.gone.size() == 1);
  CHECK_FALSE(named.everything);
  const std::vector<std::string> texts = stubs_of(named);
  REQUIRE(texts.size() == 5);
  CHECK(texts[0] == fmt::format("{:#x} {:#x} method 0x77770000 [fixup precode]", begin, begin + 24));
  CHECK_THAT(texts[1], Catch::StartsWith(fmt::format("{:#x} {:#x} [", begin + 24, cell)));
  CHECK(texts[2] == fmt::format("{:#x} {:#x} method 0x77770010", cell, cell + 24));
  CHECK_THAT(texts[3], Catch::StartsWith(fmt::format("{:#x} {:#x} [", cell + 24, end)));
  CHECK_THAT(texts[4], Catch::StartsWith(fmt::format("{:#x} {:#x} [", other, other + 0x1000)));
  // They are named once, and anew when another method has the precode.
  CHECK(catalog.add(runtime, std::vector<Address>{cell, entries[0]}, catalog_options).added.empty());
  builder.types().set(cell, "FixupPrecodeData", "MethodDesc", 0x7777'0020);
  Runtime later = process.runtime();
  const CatalogChange renamed = catalog.add(later, std::vector<Address>{cell}, catalog_options);
  CHECK(renamed.gone.size() == 1);
  REQUIRE(stubs_of(renamed).size() == 5);
  CHECK(stubs_of(renamed)[2] == fmt::format("{:#x} {:#x} method 0x77770020", cell, cell + 24));
  CHECK(catalog.update(later, catalog_options).added.empty());
}

TEST_CASE("catalog: more precodes than may have names are called by their kind") {
  PrecodeProcess process;
  Runtime runtime = process.runtime();
  CodeCatalog catalog;
  CatalogOptions options = catalog_options;
  options.named_stubs = 1;
  CHECK(stubs_of(catalog.update(runtime, options)).size() == 3);
  const CatalogChange named =
      catalog.add(runtime, std::vector<Address>{process.entries[1], process.entries[0]}, options);
  CHECK(named.problems == std::vector<std::string>{"no more than 1 stubs have the names of their methods"});
  const std::vector<std::string> texts = stubs_of(named);
  REQUIRE(texts.size() == 4); // the other list was in the same module
  CHECK(texts[1] == fmt::format("{:#x} {:#x} method 0x77770010 [fixup precode]", process.entries[1],
                                process.entries[1] + 24));
  CHECK_THAT(texts[3], Catch::StartsWith(fmt::format("{:#x} {:#x} [", PrecodeProcess::other,
                                                     PrecodeProcess::other + 0x1000)));
}

TEST_CASE("catalog: the name of a stub is cut") {
  Method method;
  method.name = std::string(5000, 'n');
  for (const bool code : {true, false}) {
    const std::string name = stub_name(method, {.code = code, .kind = PrecodeKind::fixup});
    CHECK(name.size() == max_stub_name + (code ? std::string_view(" [fixup precode]").size() : 0));
  }
}

TEST_CASE("catalog: many places are given up when they are asked to be") {
  PrecodeProcess process;
  Runtime runtime = process.runtime();
  CodeCatalog catalog;
  CatalogOptions options = catalog_options;
  catalog.update(runtime, options);
  unsigned asked = 0;
  options.stop = [&] { return ++asked != 0; };
  const CatalogChange change = catalog.add(runtime, std::vector<Address>(1000, process.entries[0]), options);
  CHECK(asked == 1);
  CHECK_FALSE(change.complete);
}

TEST_CASE("catalog: places in code that was replaced bring everything up to date") {
  CatalogProcess before({0x2'1000, 0x2'1080, 0x2'3000});
  // Another method's body at the same place; a body that begins in one that was freed.
  for (const bool inside : {false, true}) {
    CAPTURE(inside);
    CatalogProcess after({inside ? Address{0x2'1020} : Address{0x2'1000}, 0x2'3000}, 0x7777'1000);
    CodeCatalog known;
    Runtime old = before.runtime();
    const CatalogChange whole = known.update(old, catalog_options);
    Runtime second = after.runtime();
    const std::vector<Address> places{0x2'1030};
    const CatalogChange change = known.add(second, places, catalog_options);
    CHECK(change.everything);
    CHECK(change.gone == std::vector<std::uint64_t>{whole.added.at(0).id});
    CHECK(catalog_starts(change) ==
          std::vector<Address>{inside ? Address{0x2'1020} : Address{0x2'1000}, 0x2'3000});
  }
  // Places in code that stayed say nothing of it.
  CatalogProcess whole({0x2'1000, 0x2'3000, 0x2'1080}), freed({0x2'1000, 0x2'3000});
  CodeCatalog catalog;
  Runtime first = whole.runtime(), third = freed.runtime();
  CHECK(catalog.update(first, catalog_options).methods == 3);
  const CatalogChange none = catalog.add(third, std::vector<Address>{0x2'3010}, catalog_options);
  CHECK(none.gone.empty());
  CHECK(none.added.empty());
}

TEST_CASE("catalog: whichever read fails, no body at given places is wrong") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  for_each_failing_read(process.builder.memory(), [&](MemoryReader& memory, std::uint64_t k) {
    CAPTURE(k);
    Runtime runtime = process.runtime(&memory);
    CodeCatalog catalog;
    const CatalogChange change = catalog.add(runtime, std::vector<Address>{0x2'1090}, catalog_options);
    for (const Address start : catalog_starts(change)) CHECK(start == 0x2'1080);
    if (k == 0) CHECK(change.methods == 1);
  });
}

TEST_CASE("catalog: other choices that concern no module change none") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  CHECK(catalog.update(runtime, catalog_options).methods == 2);
  CatalogOptions options = catalog_options;
  options.lines = options.variables = true; // nothing has symbols
  options.r2r = false;
  catalog.reconsider();
  const CatalogChange change = catalog.update(runtime, options);
  CHECK(change.gone.empty());
  CHECK(change.added.empty());
}

TEST_CASE("catalog: code that recurs is made anew once") {
  CatalogProcess process({0x2'1000, 0x2'1080});
  CodeCatalog catalog;
  Runtime runtime = process.runtime();
  const CatalogChange all = catalog.update(runtime, catalog_options);
  REQUIRE(all.added.size() == 1);
  CatalogOptions options = catalog_options;
  options.repeated = {0x2'1090, 0x2'10a0, 0x10};
  CHECK(catalog.update(runtime, options).gone.empty()); // without variables there are no arguments
  options.variables = true;
  const std::vector<Address> places{0x2'1090};
  const CatalogChange change = catalog.add(runtime, places, options);
  CHECK_FALSE(change.everything);
  CHECK(change.gone == std::vector<std::uint64_t>{all.added[0].id});
  CHECK(catalog_starts(change) == std::vector<Address>{0x2'1000, 0x2'1080});
  CHECK(catalog.add(runtime, places, options).gone.empty());
  CHECK(catalog.update(runtime, options).gone.empty());

  // Of code that comes to the place of what was freed nothing was chosen yet.
  options.repeated.clear();
  CatalogProcess freed({0x2'1000});
  Runtime second = freed.runtime();
  catalog.update(second, options);
  Runtime third = process.runtime();
  const CatalogChange next = catalog.update(third, options);
  REQUIRE(next.added.size() == 1);
  options.repeated = places;
  CHECK(catalog.add(third, places, options).gone == std::vector<std::uint64_t>{next.added[0].id});
}
