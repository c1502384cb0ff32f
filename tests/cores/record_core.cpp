// Records a minimal core: opens CORE, does what the commands do (clr info, clrbt all, clrip2md of every
// frame, clr threads, clr pe), and writes the pages that this read, with the notes of CORE, to OUT. Pages
// that came from files on disk become part of it, so OUT needs none of them.
//   record_core CORE OUT
#include "core/memory/core_writer.h"
#include "core/memory/file_overlay.h"
#include "core/memory/module_list.h"
#include "core/memory/recording_reader.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stack_reporter.h"
#include "core/stack/exceptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace {

using namespace clr;

// Stack left of a recursion that is shown in one line anyway.
constexpr std::size_t max_recorded_frames = 4000;

void touch_exception(const Runtime& runtime, Address object) {
  constexpr unsigned max_inner = 16;
  const ExceptionReader reader(*runtime.target(),
                               [&](Address table) { return runtime.names()->type_name(table); });
  for (unsigned depth = 0; object != 0 && depth < max_inner; ++depth) object = reader.read(object).inner;
}

int record(const std::string& from, const std::string& to) {
  const auto core = ElfCore::open(from);
  FileOverlay files(*core);
  RecordingReader memory(files);
  const ModuleList modules = list_modules(*core, files);
  Runtime runtime(memory, modules.modules, core->platform(), nullptr);
  touch_for_debugger(memory, modules.modules);
  if (runtime.absence() == nullptr) runtime.info();
  StackReporter reporter(runtime, memory, [](FrameRow&, Address) {});
  std::size_t frames = 0;
  for (const ThreadRegisters& registers : core->threads()) {
    StackReporter::Options options;
    options.max_frames = max_recorded_frames;
    reporter.walk(context_of_thread(core->platform().cpu, registers), registers.os_id, options,
                  [&](const FrameRow& row) {
                    runtime.resolve(row.ip);
                    ++frames;
                    return true;
                  });
    const RuntimeThread* thread = reporter.thread_of(registers.os_id);
    if (thread == nullptr) continue;
    try {
      touch_exception(runtime, thread->last_thrown);
      const ExceptionReader reader(*runtime.target(), [](Address) { return std::string(); });
      for (const Address object : reader.in_flight(thread->exception_tracker).objects)
        touch_exception(runtime, object);
    } catch (const Error& error) {
      std::fputs(fmt::format("thread {}: {}\n", registers.os_id, error.what()).c_str(), stderr);
    }
  }
  const WrittenCore written =
      write_core(to, core->platform(), copy_notes(*core), with_access_of(*core, memory.ranges()), memory);
  std::fputs(fmt::format("{}: {} frames, {} bytes of memory in {} segments\n", to, frames,
                         written.memory_size, written.segments)
                 .c_str(),
             stdout);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: record_core CORE OUT\n", stderr);
    return 2;
  }
  try {
    return record(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("error: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
