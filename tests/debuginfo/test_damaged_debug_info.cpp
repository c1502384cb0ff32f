// Debug info that is cut, contradicts itself, or cannot be read.
#include "tests/debuginfo/debug_info_runtime.h"
#include "tests/support/faults.h"

using namespace clr;
using namespace clr::test;

TEST_CASE("debug info that ends with the memory is read, one that is cut is a fault") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  for (const Form form : all_forms) {
    const Blob blob{.form = form, .patchpoints = true, .rich = form != Form::net11};
    const Bytes whole = blob_bytes(blob, platform);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      INFO("form " << static_cast<int>(form) << " cut at " << size);
      Runtime runtime(platform, form, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
      // Nothing to place would still have an address.
      runtime.builder.memory().erase(runtime.address + size, 64);
      const Target target = runtime.builder.target();
      ExecutionManager manager(target);
      DebugInfoReader reader(manager);
      const CodeBlock block = block_at(manager, method_start);
      const auto error = fault_of([&] {
        const auto found_map = reader.il_map(block);
        CHECK(found_map->boundaries() == map);
        const auto found_variables = reader.variables(block);
        CHECK(found_variables == variables);
        const auto found_patchpoints = reader.patchpoint_info(block);
        CHECK(found_patchpoints->locals.size() == 2);
      });
      REQUIRE(error.has_value() == (size < whole.size()));
      if (!error) continue;
      CHECK(error->kind() == ErrorKind::memory_missing);
      // Fields in the middle of a part are read before what lies in front of them.
      CHECK(error->address().value_or(0) >= runtime.address + size);
      CHECK(error->address().value_or(0) < runtime.address + whole.size());
    }
  }
}

TEST_CASE("debug info that lies is corrupt") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  const auto check = [&](Runtime& runtime) {
    const Target target = runtime.builder.target();
    ExecutionManager manager(target);
    DebugInfoReader reader(manager);
    const CodeBlock block = block_at(manager, method_start);
    const auto error = fault_of([&] {
      reader.il_map(block);
      reader.variables(block);
    });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
  };
  SECTION("sizes") {
    for (const Form form : all_forms)
      for (const std::uint32_t size : {1u, 2u, DebugInfoReader::max_part_bytes + 1, 0xFFFF'FFFEu}) {
        INFO("form " << static_cast<int>(form) << " size " << size);
        Runtime runtime(platform, Blob{.form = form, .claimed = size});
        check(runtime);
      }
  }
  SECTION("flags") {
    for (const unsigned flags : {4u, 0x80u, 0xFFu}) {
      Bytes bytes = blob_bytes(Blob{}, platform);
      bytes[0] = std::byte(flags);
      Runtime runtime(platform, Form::net10, bytes);
      check(runtime);
    }
  }
  SECTION("locals of patchpoints") {
    for (const Form form : {Form::net9, Form::net10}) {
      Bytes bytes = blob_bytes(Blob{.form = form, .patchpoints = true}, platform);
      bytes[form == Form::net9 ? 1 + 8 + 3 : 1 + 16 + 3] = std::byte{0x7F};
      Runtime runtime(platform, form, bytes);
      check(runtime);
    }
  }
  SECTION("length of rich information") {
    Bytes bytes = blob_bytes(Blob{.rich = true}, platform);
    bytes[4] = std::byte{0xFF};
    Runtime runtime(platform, Form::net10, bytes);
    check(runtime);
  }
  SECTION("patchpoints of more locals than there is room for") {
    Bytes bytes = blob_bytes(Blob{.form = Form::net11, .patchpoints = true}, platform);
    const std::size_t count_at = bytes.size() - 8 - 8 - 24;
    REQUIRE(bytes[count_at] == std::byte{2});
    bytes[count_at] = std::byte{9};
    Runtime runtime(platform, Form::net11, bytes);
    const Target target = runtime.builder.target();
    ExecutionManager manager(target);
    const auto error =
        fault_of([&] { DebugInfoReader(manager).patchpoint_info(block_at(manager, method_start)); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
  }
}

TEST_CASE("debug info when reads fail") {
  for (const Form form : all_forms) {
    const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
    Runtime runtime(platform, Blob{.form = form, .patchpoints = true, .rich = true});
    const ContractDescriptor descriptor = runtime.builder.types().contract_descriptor();
    for (const bool stays_failed : {false, true}) {
      const auto attempt = [&](MemoryReader& memory, std::uint64_t failing) {
        const Target target(memory, descriptor, platform);
        ExecutionManager manager(target);
        DebugInfoReader reader(manager);
        unsigned answers = 0;
        const auto error = fault_of([&] {
          const CodeLookup found = manager.find(method_start + 0x100);
          const CodeBlock block = std::get<CodeBlock>(found);
          const auto found_map = reader.il_map(block);
          CHECK(found_map->boundaries() == map);
          ++answers;
          const auto found_variables = reader.variables(block);
          CHECK(found_variables == variables);
          ++answers;
          const auto found_patchpoints = reader.patchpoint_info(block);
          CHECK(found_patchpoints->locals.size() == 2);
          ++answers;
        });
        if (failing == 0) CHECK(answers == 3);
        if (error) CHECK(error->kind() == ErrorKind::memory_missing);
        // No map that could not be read is kept.
        if (error && !stays_failed && answers == 0) {
          const CodeLookup again = manager.find(method_start + 0x100);
          CHECK(reader.il_map(std::get<CodeBlock>(again))->boundaries() == map);
        }
      };
      CHECK(for_each_failing_read(runtime.builder.memory(), attempt, stays_failed) > 8);
    }
  }
}
