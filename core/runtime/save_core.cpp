#include "core/runtime/save_core.h"

#include "core/memory/recording_reader.h"
#include "core/runtime/exception_report.h"
#include "core/runtime/stack_reporter.h"

namespace clr {

namespace {
// Above and below the stack pointer: what a debugger's own unwinder looks at when ours needs no more than a
// word.
constexpr std::uint64_t stack_around = 16 * RecordingReader::page_size;

void touch_exceptions(Runtime& runtime, const RuntimeThread& thread) {
  ExceptionReporter reporter(runtime);
  const ExceptionReporter::OfThread found = reporter.of_thread(thread);
  std::vector<Address> objects = found.in_flight;
  if (found.last_thrown != 0) objects.push_back(found.last_thrown);
  for (const Address object : objects) {
    try {
      reporter.chain(object);
    } catch (const Error&) {
      // What cannot be read cannot be recorded; the copy will say the same.
    }
  }
}
} // namespace

WrittenCore save_core(CoreSession& session, const std::string& path, const SaveOptions& options) {
  RecordingReader recording(session.memory());
  const Platform platform = session.core().platform();
  touch_for_debugger(recording, session.modules());

  // A second look with nothing remembered, so that everything that is needed is read again.
  Runtime runtime(recording, session.modules(), platform, nullptr);
  StackReporter stacks(runtime, recording, [](FrameRow&, Address) {});
  for (const ThreadRegisters& thread : session.core().threads()) {
    if (options.stop && options.stop()) break;
    const RegisterContext context = context_of_thread(platform.cpu, thread);
    if (const auto sp = context.sp()) recording.record(*sp - *sp % RecordingReader::page_size, stack_around);
    stacks.walk(context, thread.os_id, {}, [](const FrameRow&) { return true; });
  }
  runtime.summary();
  if (runtime.absence() == nullptr) {
    for (const RuntimeThread& thread : stacks.threads().threads) touch_exceptions(runtime, thread);
    runtime.names()->modules();
    if (options.all_methods)
      runtime.for_each_method({.glob = "", .r2r = false}, [](const MethodRow&) { return true; });
  }
  return write_core(path, platform, copy_notes(session.core()),
                    with_access_of(session.core(), recording.ranges()), session.memory(), options.stop);
}

} // namespace clr
