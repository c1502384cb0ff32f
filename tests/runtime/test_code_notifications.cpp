#include "core/runtime/code_notifications.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address module_base = 0x20'0000;

// A runtime that publishes the places of its notifications, but for that of the table.
struct NotifyingProcess {
  explicit NotifyingProcess(Platform of) : platform(of), builder(of) {
    TargetBuilder& types = builder.types();
    types.variable("AppDomain", 0x1234);
    table = types.memory().fresh(1001 * 3 * of.pointer_size).address();
    table_variable = types.memory().fresh(of.pointer_size).pointer(table).address() - of.pointer_size;
    flags = types.variable("DacNotificationFlags", 0);
    arguments = types.memory().fresh(4 * of.pointer_size).address();
    types.pointer_global("ClrNotificationArguments", arguments);
  }

  Runtime runtime() {
    if (descriptor == 0) descriptor = builder.types().write_descriptor();
    return {builder.memory(),
            {{.path = "/x/libcoreclr.so",
              .base = module_base,
              .size = 0x5000,
              .build_id = {},
              .contract_descriptor = descriptor}},
            platform,
            nullptr};
  }

  Platform platform;
  ExecutionBuilder builder;
  Address table = 0, table_variable = 0, flags = 0, arguments = 0, descriptor = 0;
};

void write_all(MemoryBuilder& memory, const std::vector<TargetWrite>& writes) {
  for (const TargetWrite& each : writes) memory.write(each.address, each.bytes);
}

} // namespace

TEST_CASE("notifications: the places that the runtime publishes", "[code_notifications]") {
  for (const Platform platform : execution_platforms()) {
    NotifyingProcess process(platform);
    {
      Runtime runtime = process.runtime();
      CHECK_FALSE(find_code_notifications(runtime)); // the table's place is not known
    }
    process.descriptor = 0;
    process.builder.types().pointer_global("JITNotificationTable", process.table_variable);
    Runtime runtime = process.runtime();
    const auto found = find_code_notifications(runtime);
    REQUIRE(found);
    CHECK(found->table == process.table);
    CHECK(found->flags == process.flags);
    CHECK(found->arguments == process.arguments);
  }
}

TEST_CASE("notifications: the table by its place in front of the flags", "[code_notifications]") {
  const Platform platform{
      .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
  NotifyingProcess process(platform);
  ElfModuleBuilder elf{.platform = platform};
  elf.symbols = {{"g_dacTable", ElfModuleBuilder::data}}; // five variables
  process.builder.memory().write(module_base, elf.loaded(module_base, true));
  MemoryCursor slots = process.builder.memory().at(module_base + ElfModuleBuilder::data);
  slots.u64(0x1111).u64(process.table_variable).u64(process.flags).u64(0x2222).u64(0x3333);
  const Address descriptor = process.builder.types().write_descriptor();
  Runtime runtime(process.builder.memory(),
                  {{.path = "/x/libcoreclr.so",
                    .base = module_base,
                    .size = 0x5000,
                    .build_id = {},
                    .contract_descriptor = descriptor}},
                  platform, nullptr);
  const auto found = find_code_notifications(runtime);
  REQUIRE(found);
  CHECK(found->table == process.table);
}

TEST_CASE("notifications: a table that is none is not written to", "[code_notifications]") {
  for (const Platform platform : execution_platforms()) {
    NotifyingProcess process(platform);
    process.builder.types().pointer_global("JITNotificationTable", process.table_variable);
    Runtime runtime = process.runtime();
    MemoryBuilder& memory = process.builder.memory();
    const Address count = process.table + 2 * platform.pointer_size;
    memory.at(count).u32(0x7f00'0000); // some other word
    CHECK_FALSE(find_code_notifications(runtime));
    memory.at(count).u32(3);
    CHECK(find_code_notifications(runtime));
    memory.at(process.table_variable).pointer(0); // not made yet
    CHECK_FALSE(find_code_notifications(runtime));
    memory.at(process.table_variable).pointer(0x6666'0000); // no memory
    CHECK_FALSE(find_code_notifications(runtime));
  }
}

TEST_CASE("notifications: a row that the descriptor lies about is not written", "[code_notifications]") {
  struct Lie {
    std::int64_t state, module, token;
    std::uint32_t size;
  };
  for (const Lie& lie :
       {Lie{1 << 20, 8, 16, 24}, Lie{0, -8, 16, 24}, Lie{0, 8, 21, 24}, Lie{0, 8, 16, 0x8000'0000}}) {
    CAPTURE(lie.state, lie.module, lie.token, lie.size);
    NotifyingProcess process({.pointer_size = 8, .cpu = Cpu::x64});
    TargetBuilder& types = process.builder.types();
    types.pointer_global("JITNotificationTable", process.table_variable);
    TypeDescriptor& row = types.descriptor().types["JITNotification"];
    row.size = lie.size;
    row.fields = {{"State", {.offset = lie.state, .type = {}}},
                  {"ClrModule", {.offset = lie.module, .type = {}}},
                  {"MethodToken", {.offset = lie.token, .type = {}}}};
    const Target target = process.builder.target();
    const CodeNotifications places{process.table, process.flags, process.arguments};
    const MethodKey method{0x1000, 0x0600'0001};
    const auto fault = fault_of([&] { notify_of(target, places, std::span(&method, 1)); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::unsupported_contract);
    Runtime runtime = process.runtime();
    CHECK_FALSE(find_code_notifications(runtime));
  }
}

TEST_CASE("notifications: what is written is what the runtime compares with", "[code_notifications]") {
  for (const Platform platform : execution_platforms()) {
    NotifyingProcess process(platform);
    process.builder.types().pointer_global("JITNotificationTable", process.table_variable);
    Runtime runtime = process.runtime();
    const Target& target = *runtime.target();
    const CodeNotifications places = *find_code_notifications(runtime);
    const unsigned word = platform.pointer_size;
    const std::vector<MethodKey> methods{{0x7000'1000, 0x0600'0001}, {0x7000'2000, 0x0600'0abc}};
    write_all(process.builder.memory(), notify_of(target, places, methods));
    CHECK(target.read_u32(process.table + 2 * word) == 2);
    for (std::size_t i = 0; i < methods.size(); ++i) {
      const Address row = process.table + (i + 1) * 3 * word;
      CHECK(target.read_u16(row) == 1);
      CHECK(target.read_pointer(row + word) == methods[i].module);
      CHECK(target.read_u32(row + 2 * word) == methods[i].token);
    }
    CHECK(target.read_u32(process.flags) == 1);
    write_all(process.builder.memory(), notify_of(target, places, {}));
    CHECK(target.read_u32(process.table + 2 * word) == 0);
    CHECK(target.read_u32(process.flags) == 0);
    const std::vector<MethodKey> many(max_notified_methods + 1);
    CHECK_THROWS_AS(notify_of(target, places, many), Error);
  }
}

TEST_CASE("notifications: the one that is being raised", "[code_notifications]") {
  for (const Platform platform : execution_platforms()) {
    NotifyingProcess process(platform);
    Runtime runtime = process.runtime();
    const Target& target = *runtime.target();
    const CodeNotifications places{
        .table = process.table, .flags = process.flags, .arguments = process.arguments};
    const auto raise = [&](Address kind, Address first, Address second) {
      process.builder.memory().at(process.arguments).pointer(kind).pointer(first).pointer(second);
      return read_notification(target, places);
    };
    CHECK(std::holds_alternative<std::monostate>(raise(0, 1, 2)));
    CHECK(std::holds_alternative<std::monostate>(raise(5, 1, 2))); // an exception of the program's
    const CodeNotification loaded = raise(1, 0x7000'1000, 0);
    REQUIRE(std::holds_alternative<ModuleLoaded>(loaded));
    CHECK(std::get<ModuleLoaded>(loaded).module == 0x7000'1000);
    const CodeNotification ready = raise(8, 0x7000'3000, 0x7000'4000);
    REQUIRE(std::holds_alternative<CodeReady>(ready));
    CHECK(std::get<CodeReady>(ready).method_desc == 0x7000'3000);
    CHECK(std::get<CodeReady>(ready).code == 0x7000'4000);
    CHECK_THROWS_AS(read_notification(target, {.table = 0, .flags = 0, .arguments = 0x6666'0000}), Error);
  }
}
