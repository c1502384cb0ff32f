#include "tests/capi/fake_inspection.h"

namespace clr::test {
namespace {

constexpr Platform fake_platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
constexpr Address heap_begin = 0x2'0000, heap_end = 0xA'0000;

} // namespace

FakeInspection::FakeInspection() : types_(fake_platform) {
  MetadataBuilder metadata;
  metadata.assembly("app");
  metadata.type("Ns", "Outer"); // 2
  metadata.method("Run", bytes_of({0, 1, 1, 0x08}));
  metadata.method("Walk", bytes_of({0, 0, 1}));
  const Address app = types_.module(
      {.path = "/app/app.dll", .file_name = "app.dll", .simple_name = "app", .metadata = metadata.build()});
  types_.app_domain({app});
  types_.target.variable("ThreadStore", 0); // the runtime knows no threads
  const Address outer = types_.type({.module = app, .rid = 2});
  const std::vector<Address> methods = types_.chunk(outer, {{.rid = 1}, {.rid = 2}});
  run_desc_ = methods[0];
  auto heap = types_.execution.heap(heap_begin, heap_end);
  const std::pair<Address, Address> code[] = {
      {run, methods[0]}, {walk_start, methods[1]}, {nameless, 0x7777'0000}};
  for (const auto& [start, method_desc] : code) {
    types_.execution.method(heap, {.start = start, .size = method_size, .method_desc = method_desc});
    types_.target.memory().at(start).fill(method_size, 0x90);
    if (start != nameless) types_.keep_code(method_desc, start);
  }
  modules_ = {{.path = "/usr/share/dotnet/libcoreclr.so",
               .base = 0x20'0000,
               .size = 0x1'0000,
               .build_id = {},
               .contract_descriptor = types_.target.write_descriptor()},
              {.path = "/lib/libnative.so", .base = native, .size = 0x1000, .build_id = {}}};
  runtime_ = std::make_unique<Runtime>(types_.target.memory(), modules_, fake_platform, nullptr);
  stacks_ = std::make_unique<StackReporter>(*runtime_, types_.target.memory(), [](FrameRow&, Address) {});
}

void FakeInspection::require_current() {
  ++questions;
  if (stale) throw capi::Stale("the process has run");
}

std::vector<ThreadRow> FakeInspection::threads() {
  ThreadRow main;
  main.index = 1;
  main.os_id = main_thread;
  main.name = "main";
  main.selected = true;
  ThreadRow other;
  other.index = 2;
  other.os_id = main_thread + 1;
  return {main, other};
}

StackReporter::End FakeInspection::walk(std::uint64_t os_id, const StackReporter::Options& options,
                                        const std::function<bool(const FrameRow&)>& visit) {
  if (os_id != main_thread) throw Error(ErrorKind::invalid_argument, "there is no such thread");
  FrameRow frame;
  frame.ip = native + 1;
  frame.found_by = "context";
  frame.module = "libnative.so";
  frame.symbol = "wait";
  if (!visit(frame) || options.max_frames < 2) return {"limit", {}};
  frame.index = 1;
  frame.symbol = "start";
  visit(frame);
  return {"end", {"a note"}};
}

// In native code, on a stack that is missing.
RegisterContext FakeInspection::registers(std::uint64_t os_id) {
  if (os_id != main_thread) throw Error(ErrorKind::invalid_argument, "there is no such thread");
  RegisterContext context(fake_platform.cpu);
  context.set_pc(native + 1);
  context.set_sp(0x7000'0000);
  return context;
}

std::string FakeInspection::symbol_at(Address address) {
  return address >= native && address < native + 0x1000 ? "libnative.so`wait + 1" : "";
}

MemoryReport FakeInspection::memory_report() {
  MemoryReport report;
  report.source = "fake";
  return report;
}

SaveSource FakeInspection::save_source() {
  throw Error(ErrorKind::memory_missing, 0x1234, "nothing can be saved of it");
}

} // namespace clr::test

namespace clr::capi {

std::shared_ptr<Inspection> open_process(std::uint64_t debugger, std::uint32_t, std::uint32_t) {
  if (debugger != 1 || test::opened == nullptr) throw Stale("there is no such process");
  return test::opened;
}

bool debugger_known(std::uint64_t debugger) {
  return debugger == 1;
}

} // namespace clr::capi
