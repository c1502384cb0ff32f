#include "core/runtime/stack_reporter.h"

#include "core/runtime/thread_names.h"

#include <fmt/format.h>

namespace clr {

namespace {
// Frames of one stack share few addresses, but a torn stack may produce many.
constexpr std::size_t max_described = 100'000;

} // namespace

std::string walk_end_text(const stack::Walk& walk) {
  switch (walk.end) {
  case WalkEnd::bottom:
    return "bottom";
  case WalkEnd::limit:
    return "limit";
  case WalkEnd::stopped:
    return "interrupted";
  case WalkEnd::failed:
    break;
  }
  return walk.reason;
}

StackReporter::StackReporter(Runtime& runtime, MemoryReader& memory, NativeNamer name_native)
    : runtime_(&runtime), name_native_(std::move(name_native)),
      native_(memory, runtime.platform(), runtime.modules()),
      walker_(runtime.target(), runtime.code(), native_) {
  if (runtime.target() != nullptr) exact_.emplace(runtime);
}

StackReporter::~StackReporter() = default;

ThreadList& StackReporter::list() {
  if (threads_) return *threads_;
  threads_.emplace();
  if (runtime_->target() == nullptr) return *threads_;
  try {
    threads_ = read_threads(*runtime_->target());
  } catch (const std::exception& error) {
    threads_->problem = error.what();
  }
  for (const RuntimeThread& thread : threads_->threads)
    if (thread.os_id.value_or(0) != 0) by_os_id_.try_emplace(*thread.os_id, &thread);
  return *threads_;
}

const ThreadList& StackReporter::threads() {
  ThreadList& threads = list();
  if (!named_) add_thread_names(*runtime_, threads.threads);
  named_ = true;
  return threads;
}

const RuntimeThread* StackReporter::thread_of(std::uint64_t os_id) {
  threads();
  return thread_without_name(os_id);
}

const RuntimeThread* StackReporter::thread_without_name(std::uint64_t os_id) {
  list();
  const auto found = by_os_id_.find(os_id);
  return found == by_os_id_.end() ? nullptr : found->second;
}

std::shared_ptr<const MethodAnswer> StackReporter::answer_of(const StackFrame& frame, bool with_line) {
  auto& answers = answers_[frame.leaf ? 1 : 0][with_line ? 1 : 0];
  if (answers.size() >= max_described) answers.clear();
  const Address ip = frame.pc();
  std::shared_ptr<const MethodAnswer>& known = answers[ip];
  if (known) return known;
  MethodAnswer answer = runtime_->describe(*frame.code, BodyFound::by_address);
  // The lookup used the call; the row shows the return address.
  if (answer.code.offset) *answer.code.offset += ip - frame.code->ip;
  if (with_line) {
    const bool exact = frame.leaf || frame.code->ip != ip;
    runtime_->add_source(answer, *frame.code,
                         exact ? NativeOffsetKind::exact : NativeOffsetKind::return_address);
  }
  known = std::make_shared<const MethodAnswer>(std::move(answer));
  return known;
}

FrameRow StackReporter::row_of(const StackFrame& frame, const Options& options) {
  FrameRow row;
  row.kind = to_string(frame.kind);
  row.ip = frame.pc();
  row.sp = frame.sp();
  row.found_by = to_string(frame.found_by);
  row.fault = frame.fault;
  if (frame.code) {
    row.answer = answer_of(frame, options.lines);
    if (exact_) row.exact = exact_->of(frame, row.answer->method);
    return row;
  }
  if (frame.method_desc) row.method = std::make_shared<const Method>(runtime_->describe(*frame.method_desc));
  if (frame.frame)
    row.frame_type = to_string(frame.frame->kind);
  else if (frame.stub)
    row.symbol = frame.stub->text;
  else if (!frame.fault.empty() && name_by_image(row, frame.lookup_pc()))
    return row;
  else
    name_native_(row, frame.lookup_pc());
  return row;
}

bool StackReporter::name_by_image(FrameRow& row, Address lookup) {
  const auto image = runtime_->image_of(lookup);
  if (!image) return false;
  // `module` is that of native frames: JSON of this one would differ from that of the method, were it known.
  row.position = fmt::format(" {} + {:#x}", image->name, row.ip - image->base);
  return true;
}

stack::Walk StackReporter::walk_frames(const RegisterContext& start, std::uint64_t os_id,
                                       const std::function<bool(const StackFrame&)>& visit) {
  stack::Walk walk = walker_.walk(start, thread_without_name(os_id), visit);
  note_unknown_thread(os_id, walk);
  return walk;
}

void StackReporter::note_unknown_thread(std::uint64_t os_id, stack::Walk& walk) {
  const RuntimeThread* const thread = thread_without_name(os_id);
  std::string why = thread != nullptr ? thread->fault : list().problem;
  // One of those without an id may be this thread.
  if (thread == nullptr && why.empty())
    for (const RuntimeThread& other : list().threads)
      if (!other.os_id) why = other.fault;
  if (!why.empty() && (thread == nullptr || thread->frame == 0))
    walk.notes.push_back(fmt::format("the runtime's own frames of this thread are not known: {}", why));
}

StackReporter::End StackReporter::walk(const RegisterContext& start, std::uint64_t os_id,
                                       const Options& options,
                                       const std::function<bool(const FrameRow&)>& visit) {
  unsigned index = 0;
  bool limited = false;
  if (exact_) exact_->begin_walk();
  const auto each = [&](const StackFrame& frame) {
    if (frame.kind == StackFrameKind::runtime && !options.runtime_frames) return true;
    if (index >= options.max_frames) {
      limited = true;
      return false;
    }
    FrameRow row = row_of(frame, options);
    row.index = index++;
    if (options.registers && frame.kind != StackFrameKind::runtime)
      row.registers = std::make_shared<const RegisterContext>(frame.registers);
    return visit(row);
  };
  stack::Walk walk = walk_frames(start, os_id, each);
  return {limited ? "limit" : walk_end_text(walk), std::move(walk.notes)};
}

} // namespace clr
