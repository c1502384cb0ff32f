// How threads are found by their numbers.
#include "core/runtime/lock_report.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};

// A runtime that knows no threads, and threads of the debugger's.
struct Process {
  Process() : types(platform) {
    MetadataBuilder metadata;
    metadata.assembly("app");
    types.app_domain({types.module({.path = "/app/app.dll",
                                    .file_name = "app.dll",
                                    .simple_name = "app",
                                    .metadata = metadata.build()})});
    types.target.variable("ThreadStore", 0);
    runtime = std::make_unique<Runtime>(
        types.target.memory(),
        std::vector<LoadedModule>{{.path = "/usr/lib/libcoreclr.so",
                                   .base = 0x20'0000,
                                   .size = 0x1'0000,
                                   .build_id = {},
                                   .contract_descriptor = types.target.write_descriptor()}},
        platform, nullptr);
    stacks = std::make_unique<StackReporter>(*runtime, types.target.memory(), [](FrameRow&, Address) {});
  }
  LockReporter reporter(std::vector<LockReporter::ThreadStart> starts) {
    return {*runtime, []() -> WaitObjects& { throw Error(ErrorKind::unsupported_contract, "no heap"); },
            *stacks, [starts = std::move(starts)] { return starts; }};
  }

  RuntimeTypes types;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<StackReporter> stacks;
};

} // namespace

TEST_CASE("threads have the debugger's numbers and the system's names") {
  Process process;
  REQUIRE(process.runtime->absence() == nullptr);
  LockReporter locks = process.reporter({{.os_id = 70, .index = 3, .name = "worker", .registers = {}},
                                         {.os_id = 71, .index = 0, .name = {}, .registers = {}},
                                         {.os_id = 70, .index = 4, .name = "other", .registers = {}}});
  CHECK(locks.index_of(70) == 0); // nothing was read yet
  CHECK(locks.wait_of(70) == nullptr);
  locks.table_by_stacks();
  CHECK(locks.index_of(70) == 3);
  CHECK(locks.index_of(72) == 0);
  CHECK(locks.wait_of(70) == nullptr); // the runtime does not know it
  CHECK(locks.thread_text(70) == "thread #3 'worker'");
  CHECK(locks.thread_text(71) == "thread 71");
  CHECK(locks.thread_text(72) == "thread 72");
  CHECK_FALSE(locks.waits_in_loop(70));
  CHECK_FALSE(locks.has_frame_of(70, 0, 0));
}

TEST_CASE("each of many threads is found at once") {
  constexpr unsigned count = 30'000;
  std::vector<LockReporter::ThreadStart> starts;
  for (unsigned n = 0; n < count; ++n)
    starts.push_back({.os_id = 1000 + n, .index = n + 1, .name = {}, .registers = {}});
  Process process;
  LockReporter locks = process.reporter(std::move(starts));
  locks.table_by_stacks();
  std::size_t found = 0;
  for (unsigned n = 0; n < count; ++n) found += locks.index_of(1000 + n) == n + 1 ? 1 : 0;
  CHECK(found == count);
}
