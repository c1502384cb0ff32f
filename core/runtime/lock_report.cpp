#include "core/runtime/lock_report.h"

#include "core/memory/count_text.h"
#include "core/objects/object_reader.h"
#include "core/waits/deadlock_tasks.h"
#include "core/waits/method_il.h"
#include "core/waits/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::string_view task_node_type = "System.Threading.SemaphoreSlim.TaskNode";

// Of several of one thread the first.
template<typename Rows>
std::unordered_map<std::uint64_t, std::size_t> by_os_id(const Rows& rows) {
  std::unordered_map<std::uint64_t, std::size_t> at;
  for (std::size_t i = 0; i < rows.size(); ++i) at.emplace(rows[i].os_id, i);
  return at;
}

} // namespace

LockReporter::LockReporter(Runtime& runtime, Objects objects, StackReporter& stacks, Threads threads)
    : runtime_(&runtime), objects_(std::move(objects)), stacks_(&stacks), threads_(std::move(threads)),
      async_names_(runtime) {}

LockReporter::~LockReporter() = default;

void LockReporter::note(std::string text) {
  if (notes_.size() < max_lock_problems && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

void LockReporter::read_starts() {
  starts_ = threads_();
  start_at_ = by_os_id(starts_);
}

void LockReporter::index_known() {
  wait_at_ = by_os_id(known().waits);
  stack_at_ = by_os_id(known().stacks);
}

std::vector<ThreadStack> LockReporter::read_stacks() {
  std::vector<ThreadStack> stacks;
  std::size_t torn = 0, unrooted = 0, shortened = 0, half_rooted = 0;
  std::size_t frames_left = max_kept_frames, roots_left = max_kept_roots;
  std::string why, no_roots;
  // A thread that the runtime does not know waits for none of its locks.
  const auto waits = [&](const ThreadStart& start) {
    return stacks_->thread_of(start.os_id) != nullptr && start.registers.pc() && start.registers.sp();
  };
  const auto threads = static_cast<std::size_t>(std::ranges::count_if(starts_, waits));
  std::size_t threads_left = threads;
  StackRoots roots(*runtime_->target(), *runtime_->code());
  for (const ThreadStart& start : starts_) {
    if (!waits(start)) continue;
    const std::size_t most = std::min(frames_left / threads_left--, ThreadStack::max_frames);
    ThreadStack stack{
        .os_id = start.os_id, .thread = stacks_->thread_of(start.os_id), .frames = {}, .roots = {}};
    if (most == 0) {
      ++shortened;
      continue;
    }
    std::size_t of_thread = std::min(max_thread_roots, roots_left);
    const std::size_t roots_before = of_thread;
    bool rooted = true;
    const StackRoots::Visit each = [&](const FrameRoots& frame) {
      rooted = frame.roots.size() <= of_thread;
      if (!rooted) return false;
      of_thread -= frame.roots.size();
      stack.roots.push_back(frame);
      return true;
    };
    std::size_t managed = 0;
    roots.begin(each);
    const stack::Walk walk = stacks_->walk_frames(start.registers, start.os_id, [&](const StackFrame& frame) {
      stack.frames.push_back(frame);
      if (frame.kind == StackFrameKind::managed) ++managed;
      if (managed <= max_root_frames && rooted) roots.add(frame);
      return stack.frames.size() < most;
    });
    roots.finish();
    stack.frames.shrink_to_fit();
    frames_left -= stack.frames.size();
    roots_left -= roots_before - of_thread;
    if (!rooted || roots.reached_limit()) ++half_rooted;
    // A wait is at the innermost frames.
    if (stack.frames.size() == most && most < max_root_frames) ++shortened;
    if (!roots.unsupported().empty() && ++unrooted == 1) no_roots = roots.unsupported();
    stack.gaps = !walk.notes.empty();
    if (stack.gaps && ++torn == 1) why = walk.notes.front();
    stacks.push_back(std::move(stack));
  }
  const auto wait = [](std::size_t count) { return count == 1 ? "it waits" : "they wait"; };
  if (torn != 0)
    note(fmt::format("frames of {} may be missing, and with them what {} for; {}because: {}",
                     count_text(torn, "thread"), wait(torn), torn == 1 ? "" : "of the first ", why));
  if (unrooted != 0)
    note(fmt::format("which objects the frames of {} hold is not known, and with it what {} for; {}because: "
                     "{}",
                     count_text(unrooted, "thread"), wait(unrooted), unrooted == 1 ? "" : "of the first ",
                     no_roots));
  if (half_rooted != 0)
    note(fmt::format("the frames of {} hold too many references, and not all were looked at for what {} for",
                     count_text(half_rooted, "thread"), wait(half_rooted)));
  if (shortened != 0)
    note(fmt::format("of {} fewer than {} frames were looked at, because {} threads are too many: what {} "
                     "for may not be known",
                     count_text(shortened, "thread"), max_root_frames, threads, wait(shortened)));
  return stacks;
}

LockIndex* LockReporter::read_heap(const HeapWalkOptions& options) {
  WaitObjects* objects = nullptr;
  try {
    objects = &objects_();
  } catch (const Error& error) {
    note(fmt::format("the managed heap cannot be read, so only stacks were asked: {}", error.what()));
    return nullptr;
  }
  LockIndex& index = objects->locks(options);
  for (std::string& text : objects->heap().warnings()) note(std::move(text));
  const std::vector<HeapGap>& gaps = objects->found(options).gaps;
  std::uint64_t missing = 0;
  for (const HeapGap& gap : gaps) missing += gap.missing ? gap.bytes : 0;
  const std::uint64_t all = objects->heap().map().bytes();
  for (std::string& text : gap_texts(gaps, all)) note(std::move(text));
  if (missing == all) return nullptr;
  if (std::string text = objects->unknown_types(); !text.empty()) note(std::move(text));
  if (!index.whole()) note("some objects of the heap could not be looked at: locks may be missing");
  waits_ = objects;
  return &index;
}

const LockTable& LockReporter::table(const HeapWalkOptions& options) {
  if (table_) return *table_;
  notes_.clear();
  read_starts();
  if (const std::string& problem = stacks_->threads().problem; !problem.empty())
    note(fmt::format("the threads of the runtime are not all known: {}", problem));
  LockIndex* const index = read_heap(options);
  const auto tasks_of = [&](Address event) {
    std::vector<Address> tasks;
    for (const AsyncEdge& edge : waits_->async(options).awaited(event)) tasks.push_back(edge.to);
    return tasks;
  };
  LockTable table = read_lock_table(*runtime_->objects(), *runtime_->names(), index, tasks_of,
                                    stacks_->threads(), read_stacks());
  table.problems.insert(table.problems.begin(), notes_.begin(), notes_.end());
  table_ = std::move(table);
  index_known();
  return *table_;
}

const WaitEdges& LockReporter::edges(const HeapWalkOptions& options) {
  if (edges_) return *edges_;
  const LockTable& locks = table(options);
  edges_ = wait_edges(locks, waits_ == nullptr ? std::vector<TaskWait>()
                                               : task_waits(locks, waits_->async(options),
                                                            *runtime_->objects(), *runtime_->names()));
  if (edges_->left_out && table_->problems.size() < max_lock_problems)
    table_->problems.push_back(fmt::format(
        "more than {} waits of one for another: the rest is not searched for deadlocks", max_wait_edges));
  return *edges_;
}

const std::vector<Deadlock>& LockReporter::deadlocks(const HeapWalkOptions& options) {
  if (!deadlocks_) {
    const WaitEdges& all = edges(options);
    deadlocks_ = find_deadlocks(*table_, all);
    if (std::ranges::any_of(*deadlocks_, &Deadlock::more_victims) &&
        table_->problems.size() < max_lock_problems)
      table_->problems.push_back(fmt::format(
          "more than {} waits lead to deadlocks: not all that wait behind them are told", max_victim_steps));
    try {
      if (const std::optional<ThreadPoolState> pool = read_thread_pool(*runtime_->objects()))
        if (auto starved = find_pool_deadlock(
                *table_,
                {.queued = pool->items.size(), .existing = pool->existing, .maximum = pool->maximum}))
          deadlocks_->push_back(std::move(*starved));
    } catch (const Error& error) {
      if (table_->problems.size() < max_lock_problems)
        table_->problems.push_back(fmt::format("the thread pool cannot be read: {}", error.what()));
    }
  }
  return *deadlocks_;
}

const LockTable& LockReporter::table_by_stacks() {
  if (table_) return *table_;
  if (by_stacks_) return *by_stacks_;
  read_starts();
  by_stacks_ = read_lock_table(*runtime_->objects(), *runtime_->names(), nullptr, {}, stacks_->threads(),
                               read_stacks(), false);
  index_known();
  return *by_stacks_;
}

bool LockReporter::stacks_tell_all() {
  return std::ranges::all_of(known().waits, [&](const ThreadWait& wait) {
    if (wait.what != ThreadWait::What::objects || wait.kind == LockKind::class_init) return true;
    return !wait.objects.empty() && wait.certain &&
           std::ranges::all_of(wait.objects, [&](const WaitedObject& object) {
             // A thread that waits for a place in the line of a semaphore waits for the semaphore.
             return object.kind != LockKind::task ||
                    type_of({.object = object.object, .kind = object.kind, .text = {}}) != task_node_type;
           });
  });
}

const ThreadWait* LockReporter::wait_of(std::uint64_t os_id) const {
  const auto found = wait_at_.find(os_id);
  return found == wait_at_.end() ? nullptr : &known().waits[found->second];
}

const LockReporter::ThreadStart* LockReporter::start_of(std::uint64_t os_id) const {
  const auto found = start_at_.find(os_id);
  return found == start_at_.end() ? nullptr : &starts_[found->second];
}

unsigned LockReporter::index_of(std::uint64_t os_id) const {
  const ThreadStart* const start = start_of(os_id);
  return start == nullptr ? 0 : start->index;
}

const ThreadStack* LockReporter::stack_of(std::uint64_t os_id) const {
  const auto found = stack_at_.find(os_id);
  return found == stack_at_.end() ? nullptr : &known().stacks[found->second];
}

bool LockReporter::has_frame_of(std::uint64_t os_id, Address module, std::uint32_t token) {
  const ThreadStack* const stack = stack_of(os_id);
  if (stack == nullptr) return false;
  return std::ranges::any_of(stack->frames, [&](const StackFrame& frame) {
    if (!frame.code) return false;
    try {
      const Method method = runtime_->names()->describe(frame.code->method_desc);
      return method.token == token && method.runtime_module == module;
    } catch (const Error&) {
      return false; // a frame without a name is no frame of that method
    }
  });
}

bool LockReporter::waits_in_loop(std::uint64_t os_id) {
  const ThreadStack* const stack = stack_of(os_id);
  if (stack == nullptr) return false;
  bool in_loop = false;
  std::size_t users = 0;
  for (const StackFrame& frame : stack->frames) {
    if (in_loop || users == max_loop_frames) break;
    if (!frame.code) continue; // only managed frames have it
    try {
      const std::shared_ptr<const MethodAnswer> place = stacks_->answer_of(frame, true);
      if (place == nullptr || is_framework_module(place->method.module.str())) continue;
      ++users;
      if (place->source)
        with_method_il(*runtime_->objects(), place->method.runtime_module, place->method.token,
                       [&](const Metadata&, std::span<const std::byte> il) {
                         in_loop = is_in_loop(il, place->source->il_offset);
                       });
    } catch (const Error&) { // code without IL is in no loop that is known
    }
  }
  return in_loop;
}

std::shared_ptr<const MethodAnswer> LockReporter::place_of(const ThreadWait& wait) {
  const std::optional<std::size_t> frame = wait.user_frame ? wait.user_frame : wait.managed_frame;
  const ThreadStack* const stack = frame ? stack_of(wait.os_id) : nullptr;
  if (stack == nullptr || *frame >= stack->frames.size() || !stack->frames[*frame].code) return nullptr;
  return stacks_->answer_of(stack->frames[*frame], true);
}

std::string LockReporter::place_text(const ThreadWait& wait) {
  const std::shared_ptr<const MethodAnswer> place = place_of(wait);
  return place == nullptr ? "" : place->method.shown_name() + source_position(place->source);
}

} // namespace clr
