// Code lookup in a damaged runtime: range sections, nibble maps, code headers, ReadyToRun tables, precodes,
// debug info.
#include "core/debuginfo/debug_info_reader.h"
#include "core/execution/call_counting_stub.h"
#include "core/execution/execution_manager.h"
#include "core/execution/precode.h"
#include "tests/execution/precode_builder.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/fuzz/scenes.h"

using namespace clr;
using namespace clr::fuzz;

namespace {

void use(ExecutionManager& manager, const CodeBlock& block) {
  require(block.start <= block.ip, "a block begins at or before the address that was looked up");
  attempt([&] { manager.regions(block); });
  attempt([&] { manager.layout(block); });
  attempt([&] { manager.relative_offset(block); });
  attempt([&] { manager.functions(block); });
  attempt([&] { manager.is_funclet(block); });
  attempt([&] { manager.gc_info(block); });
  DebugInfoReader reader(manager);
  attempt([&] { reader.il_map(block); });
  attempt([&] { reader.variables(block); });
  attempt([&] { reader.patchpoint_info(block); });
}

void look_up(ExecutionManager& manager, Address ip) {
  attempt([&] {
    const CodeLookup found = manager.find(ip);
    if (const auto* block = std::get_if<CodeBlock>(&found)) use(manager, *block);
  });
  attempt([&] { manager.method_desc_of_entry_point(ip); });
  call_counting_target(manager.target().memory(), manager.target().platform().cpu, ip);
}

// Of each walk over all code: what a longer one would find, a shorter finds sooner.
constexpr std::size_t most_bodies = 64;

void enumerate(ExecutionManager& manager) {
  Address last = 0;
  std::size_t sections = 0;
  for (const RangeSection& section : manager.sections()) {
    require(section.begin >= last && section.begin < section.end,
            "sections come in order and hold something");
    last = section.begin;
    if (++sections > most_bodies) break;
    attempt([&] { manager.r2r_image(section); });
    attempt([&] { manager.heap_fingerprint(section); });
    for (const std::uint32_t index : {0u, 1u, 3u, 77u})
      attempt([&] { use(manager, manager.r2r_block(section, index)); });
    std::size_t bodies = 0, stubs = 0;
    attempt([&] {
      WalkLimit limit;
      manager.for_each_jitted_in(
          section, limit,
          [&](const JittedBody& body) {
            if (bodies < 4) look_up(manager, body.start + 1);
            return ++bodies < most_bodies;
          },
          [&](const StubBlock& stub) {
            require(stub.start < stub.limit, "a block of stubs holds something");
            if (++stubs < most_bodies) look_up(manager, stub.start);
          });
    });
  }
  manager.holes();
}

class BuiltCode final : public Scene {
public:
  BuiltCode(Platform platform, unsigned version) : platform_(platform), built_(platform, version) {
    auto heap = built_.heap(heap_begin, heap_begin + 0xc000);
    for (unsigned i = 0; i < 6; ++i)
      built_.method(heap, {.start = heap_begin + 0x200 + 0x600 * Address{i},
                           .size = 0x450,
                           .method_desc = 0x1000,
                           .funclets = {0x300}});
    built_.stub(heap, heap_begin + 0x6000, 0x40, 6);
    built_.image({.begin = image_begin,
                  .end = image_begin + 0x8000,
                  .functions = {{0x100, 0x80, 0x100 + 0x40},
                                {0x180, 0x80},
                                {0x200, 0x100, 0x100},
                                {0x400, 0x40, 0, true}},
                  .methods = {{0x100, 0x2000}},
                  .hot_cold = {3, 0},
                  .thunks = {{0x900, 0x100}},
                  .debug_info = std::vector<std::uint32_t>{0, 2}});
    descriptor_ = built_.types().contract_descriptor();
  }

  MemoryReader& sound() override { return built_.memory(); }
  ByteOrder byte_order() const override { return platform_.byte_order; }
  unsigned parts() const override { return 2; }
  void ask(MemoryReader& memory, unsigned part) override {
    const Target target(memory, descriptor_, platform_);
    ExecutionManager manager(target);
    if (part == 1) return enumerate(manager);
    for (unsigned i = 0; i < 6; ++i)
      for (const Address at : {0x200, 0x310, 0x510, 0x650})
        look_up(manager, heap_begin + 0x600 * Address{i} + at);
    for (const Address rva : {0x100, 0x190, 0x210, 0x2ff, 0x410, 0x910, 0x4100})
      look_up(manager, image_begin + rva);
  }

private:
  static constexpr Address heap_begin = 0x0a0a'0000, image_begin = 0x0b00'0000;
  Platform platform_;
  test::ExecutionBuilder built_;
  ContractDescriptor descriptor_;
};

class BuiltPrecodes final : public Scene {
public:
  explicit BuiltPrecodes(const test::PrecodeCase& of)
      : platform_(of.platform), built_(of.platform, of.version) {
    namespace type = test::precode_type;
    test::TargetBuilder& t = built_.b.types();
    entries_ = {built_.precode(0, false, built_.stub_data_type()), built_.precode(1, true, 0),
                built_.precode(2, false, type::pinvoke), built_.precode(3, false, type::ret_buf),
                built_.precode(4, false, type::um_entry)};
    for (const unsigned number : {0u, 2u})
      t.set(built_.data_of(built_.code(number)), "StubPrecodeData", built_.secret(), 0x0101'aaa0);
    t.set(built_.data_of(built_.code(1)), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
    t.set(built_.data_of(built_.code(3)), "StubPrecodeData", built_.secret(),
          t.record("ThisPtrRetBufPrecodeData", {{"MethodDesc", 0x0404'ddd0}}));
    if (of.version == 3) {
      entries_.push_back(built_.precode(5, false, type::interpreter));
      const Address method = t.record("InterpMethod", {{"MethodDesc", 0x0101'aaa0}});
      t.set(built_.data_of(built_.code(5)), "InterpreterPrecodeData", "ByteCodeAddr",
            t.record("InterpByteCodeStart", {{"Method", method}}));
      t.set(built_.data_of(built_.code(5)), "StubPrecodeData", "Type", type::interpreter);
    }
    descriptor_ = t.contract_descriptor();
  }

  MemoryReader& sound() override { return built_.b.memory(); }
  ByteOrder byte_order() const override { return platform_.byte_order; }
  unsigned parts() const override { return 1; }
  void ask(MemoryReader& memory, unsigned) override {
    const Target target(memory, descriptor_, platform_);
    attempt([&] {
      const Precodes precodes(target);
      for (const Address entry : entries_) {
        attempt([&] { precodes.at_entry(entry); });
        attempt([&] { precodes.containing(entry + 5); });
      }
    });
  }

private:
  Platform platform_;
  test::PrecodeBuilder built_;
  std::vector<Address> entries_;
  ContractDescriptor descriptor_;
};

class RecordedCode final : public Scene {
public:
  explicit RecordedCode(const std::string& name) : recorded_(name) {
    for (const JittedBody& body : recorded_.bodies) addresses_.push_back(body.start);
    addresses_.insert(addresses_.end(), recorded_.frames.begin(), recorded_.frames.end());
  }

  MemoryReader& sound() override { return *recorded_.core; }
  ByteOrder byte_order() const override { return recorded_.platform.byte_order; }
  unsigned parts() const override { return groups + 1; }
  void ask(MemoryReader& memory, unsigned part) override {
    const Target target(memory, recorded_.descriptor, recorded_.platform);
    ExecutionManager manager(target);
    if (part == groups) return enumerate(manager);
    std::size_t left = most_bodies;
    for (std::size_t i = part; i < addresses_.size() && left != 0; i += groups, --left)
      look_up(manager, addresses_[i]);
  }

private:
  static constexpr unsigned groups = 16;
  RecordedCore recorded_;
  std::vector<Address> addresses_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Platform& platform : test::execution_platforms())
    for (const unsigned version : {1u, 2u}) all.push_back(std::make_unique<BuiltCode>(platform, version));
  // Each platform in one version: more of them would take the place of the scenes that have more to find.
  unsigned turn = 0;
  for (const test::PrecodeCase& each : test::precode_cases())
    if (each.version == 1 + turn++ / 3 % 3) all.push_back(std::make_unique<BuiltPrecodes>(each));
  all.push_back(std::make_unique<RecordedCode>("gallery-x64"));
  all.push_back(std::make_unique<RecordedCode>("gallery-arm64"));
  return all;
}
