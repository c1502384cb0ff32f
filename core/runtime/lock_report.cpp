#include "core/runtime/lock_report.h"

#include "core/objects/object_reader.h"
#include "core/waits/deadlock_tasks.h"
#include "core/waits/method_il.h"
#include "core/waits/thread_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::string_view task_node_type = "System.Threading.SemaphoreSlim.TaskNode";

} // namespace

LockReporter::LockReporter(Runtime& runtime, Objects objects, StackReporter& stacks, Threads threads)
    : runtime_(&runtime), objects_(std::move(objects)), stacks_(&stacks), threads_(std::move(threads)),
      async_names_(runtime) {}

LockReporter::~LockReporter() = default;

void LockReporter::note(std::string text) {
  if (notes_.size() < max_lock_problems && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

std::vector<ThreadStack> LockReporter::read_stacks() {
  std::vector<ThreadStack> stacks;
  std::size_t torn = 0, unrooted = 0;
  std::string why, no_roots;
  StackRoots roots(*runtime_->target(), *runtime_->code());
  const std::size_t most = std::clamp<std::size_t>(max_kept_frames / std::max<std::size_t>(starts_.size(), 1),
                                                   max_root_frames, ThreadStack::max_frames);
  for (const ThreadStart& start : starts_) {
    ThreadStack stack{
        .os_id = start.os_id, .thread = stacks_->thread_of(start.os_id), .frames = {}, .roots = {}};
    // A thread that the runtime does not know waits for none of its locks.
    if (stack.thread == nullptr || !start.registers.pc() || !start.registers.sp()) continue;
    const StackRoots::Visit each = [&](const FrameRoots& frame) {
      stack.roots.push_back(frame);
      return true;
    };
    std::size_t managed = 0;
    roots.begin(each);
    const stack::Walk walk = stacks_->walk_frames(start.registers, start.os_id, [&](const StackFrame& frame) {
      stack.frames.push_back(frame);
      if (frame.kind == StackFrameKind::managed) ++managed;
      if (managed <= max_root_frames) roots.add(frame);
      return stack.frames.size() < most;
    });
    roots.finish();
    if (!roots.unsupported().empty() && ++unrooted == 1) no_roots = roots.unsupported();
    stack.gaps = !walk.notes.empty();
    if (stack.gaps && ++torn == 1) why = walk.notes.front();
    stacks.push_back(std::move(stack));
  }
  if (torn != 0)
    note(fmt::format("frames of {} threads may be missing, and with them what they wait for; of the first "
                     "because: {}",
                     torn, why));
  if (unrooted != 0)
    note(fmt::format("which objects the frames of {} threads hold is not known, and with it what they wait "
                     "for; of the first because: {}",
                     unrooted, no_roots));
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
  starts_ = threads_();
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
  starts_ = threads_();
  by_stacks_ = read_lock_table(*runtime_->objects(), *runtime_->names(), nullptr, {}, stacks_->threads(),
                               read_stacks(), false);
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
  const std::vector<ThreadWait>& waits = known().waits;
  const auto found = std::ranges::find(waits, os_id, &ThreadWait::os_id);
  return found == waits.end() ? nullptr : &*found;
}

unsigned LockReporter::index_of(std::uint64_t os_id) const {
  const auto found = std::ranges::find(starts_, os_id, &ThreadStart::os_id);
  return found == starts_.end() ? 0 : found->index;
}

// Those who read under a lock, by name.
std::string LockReporter::readers_text(const LockRow& row) const {
  constexpr std::size_t most = 20;
  std::vector<std::string> readers;
  for (const LockHolder& reader : row.readers) {
    if (readers.size() == most) {
      readers.push_back(fmt::format("{} more", row.readers.size() - most));
      break;
    }
    readers.push_back(holder_text(reader));
  }
  if (row.readers.size() < row.state.reader_count)
    readers.push_back(fmt::format("{} that could not be found", row.state.reader_count - row.readers.size()));
  return fmt::format("{}", fmt::join(readers, ", "));
}

std::string LockReporter::owner_text(const LockRow& row) const {
  if (row.owner) {
    const bool class_init = row.state.kind == LockKind::class_init;
    std::string text =
        fmt::format("{} {}", class_init ? "being initialised by" : "held by", holder_text(*row.owner));
    if (row.state.upgradeable) text += " (upgradeable)";
    if (!row.readers.empty()) text += ", read by " + readers_text(row);
    return text;
  }
  if (row.ender)
    return fmt::format("{}it ends when the callback of a timer on {} does",
                       row.state.text.empty() ? "" : row.state.text + ", ", thread_text(*row.ender));
  if (row.state.reader_count != 0) return "read by " + readers_text(row);
  if (!row.state.owner_known) return "its owner is not to be known";
  switch (row.state.kind) {
  case LockKind::monitor:
  case LockKind::lock:
  case LockKind::rwlock:
    return "held by nobody";
  default:
    return row.state.text;
  }
}

std::string LockReporter::type_of(const LockState& state) {
  try {
    const Address table = state.kind == LockKind::class_init
                              ? state.object
                              : runtime_->objects()->method_table_of(state.object);
    return runtime_->names()->type_name(table);
  } catch (const std::exception&) {
    return {};
  }
}

std::string LockReporter::object_text(const WaitedObject& object, const ThreadWait* wait) {
  const std::string type = type_of({.object = object.object, .kind = object.kind, .text = {}});
  const std::string named = fmt::format("{} {:#x}", type.empty() ? "an object" : type, object.object);
  switch (object.kind) {
  case LockKind::monitor:
    return fmt::format("the lock of {}", named);
  case LockKind::condition:
    return fmt::format("a pulse of {}", named);
  case LockKind::class_init:
    return fmt::format("the constructor of class {}", type.empty() ? "unknown" : type);
  case LockKind::thread: {
    const LockRow* const row = known().find(object);
    return fmt::format("the end of {}", row != nullptr && row->owner ? holder_text(*row->owner) : named);
  }
  case LockKind::finalizers: {
    const LockRow* const row = known().find(object);
    return fmt::format("the finalizers, which {} runs",
                       row != nullptr && row->owner ? holder_text(*row->owner) : "a thread of the runtime");
  }
  case LockKind::callback: {
    const LockRow* const row = known().find(object);
    return fmt::format("the end of a callback of a cancellation{}",
                       row != nullptr && row->owner ? fmt::format(", which {} runs", holder_text(*row->owner))
                                                    : "");
  }
  case LockKind::rwlock:
    return wait == nullptr ? named : fmt::format("{} {}", named, purpose_text(wait->mode));
  case LockKind::task: {
    const std::string method = async_method(object.object);
    return method.empty() ? named : fmt::format("{} {:#x}", method, object.object);
  }
  default:
    return named;
  }
}

// The method whose task it is, for people; "" for other tasks.
std::string LockReporter::async_method(Address task) {
  try {
    if (waits_ != nullptr)
      if (const AsyncBox* const box = waits_->async().box(task))
        return async_names_.position(*box)->method->shown_name();
    if (!lineages_) lineages_.emplace(runtime_->names()->types());
    AsyncObjects kinds(*runtime_->objects(), *lineages_);
    const MachineShape* const machine = async_names_.machine_in(kinds, task);
    return machine == nullptr ? std::string() : async_names_.method_of(*machine)->shown_name();
  } catch (const Error&) {
    return {}; // its type tells, then
  }
}

std::string LockReporter::task_place(Address task) {
  try {
    if (waits_ != nullptr)
      if (const AsyncBox* const box = waits_->async().box(task))
        return source_position(async_names_.position(*box)->source);
  } catch (const Error&) {
    // Its name tells, then.
  }
  return {};
}

std::string LockReporter::owned_text(const WaitedObject& object, const ThreadWait& wait) {
  const LockRow* const row = is_of_thread(object.kind) ? nullptr : known().find(object);
  const std::string owner = row == nullptr ? "" : owner_text(*row);
  return fmt::format("{}{}{}", object_text(object, &wait), owner.empty() ? "" : ", ", owner);
}

std::string LockReporter::wait_text(const ThreadWait& wait) {
  switch (wait.what) {
  case ThreadWait::What::unknown:
  case ThreadWait::What::running:
    return {};
  case ThreadWait::What::sleep:
    return "sleeps";
  case ThreadWait::What::idle:
    return "has nothing to do";
  case ThreadWait::What::native: {
    std::string symbol;
    if (const ThreadStack* stack = wait.native_frame ? stack_of(wait) : nullptr)
      symbol = stacks_->row_of(stack->frames[*wait.native_frame], {.lines = false}).symbol;
    if (symbol.empty())
      return wait.native.empty() ? "native code" : fmt::format("native code of {}", wait.native);
    return wait.native.empty() ? fmt::format("native code: {}", symbol)
                               : fmt::format("native code: {}, called by {}", symbol, wait.native);
  }
  case ThreadWait::What::objects:
    break;
  }
  std::vector<std::string> objects;
  for (const WaitedObject& object : wait.objects) {
    constexpr std::size_t most = 4;
    if (objects.size() == most) {
      objects.push_back(fmt::format("{} more", wait.objects.size() - most));
      break;
    }
    objects.push_back(owned_text(object, wait));
  }
  std::string text = objects.size() > 1
                         ? fmt::format("{} of: {}", wait.any ? "any" : "all", fmt::join(objects, "; "))
                     : objects.empty() ? fmt::format("an unknown {}", to_string(wait.kind))
                                       : objects.front();
  if (wait.timeout_ms) text += fmt::format(", for at most {} ms", *wait.timeout_ms);
  return text;
}

const ThreadStack* LockReporter::stack_of(const ThreadWait& wait) const {
  const std::vector<ThreadStack>& stacks = known().stacks;
  const auto found = std::ranges::find(stacks, wait.os_id, &ThreadStack::os_id);
  return found == stacks.end() ? nullptr : &*found;
}

bool LockReporter::has_frame_of(std::uint64_t os_id, Address module, std::uint32_t token) {
  const std::vector<ThreadStack>& stacks = known().stacks;
  const auto stack = std::ranges::find(stacks, os_id, &ThreadStack::os_id);
  if (stack == stacks.end()) return false;
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
  const std::vector<ThreadStack>& stacks = known().stacks;
  const auto stack = std::ranges::find(stacks, os_id, &ThreadStack::os_id);
  if (stack == stacks.end()) return false;
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
  const ThreadStack* const stack = frame ? stack_of(wait) : nullptr;
  if (stack == nullptr || *frame >= stack->frames.size() || !stack->frames[*frame].code) return nullptr;
  return stacks_->answer_of(stack->frames[*frame], true);
}

std::string LockReporter::place_text(const ThreadWait& wait) {
  const std::shared_ptr<const MethodAnswer> place = place_of(wait);
  return place == nullptr ? "" : place->method.shown_name() + source_position(place->source);
}

} // namespace clr
