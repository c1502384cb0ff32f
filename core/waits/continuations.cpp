#include "core/waits/continuations.h"

#include "core/heap/reference_map.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::string_view continuation_type = "System.Runtime.CompilerServices.Continuation";

} // namespace

const ResumePoint* Continuations::point_of(Address continuation) {
  if (const auto info = kinds_->integer(continuation, "ResumeInfo"))
    return *info == 0 ? nullptr : &points_.by_info(*info);
  const auto stub = kinds_->integer(continuation, "Resume");
  if (!stub)
    throw Error(ErrorKind::unsupported_contract,
                "System.Runtime.CompilerServices.Continuation has neither ResumeInfo nor Resume");
  return *stub == 0 ? nullptr : &points_.by_stub(*stub);
}

// Whether `task` goes on behind one that is not done. A list, which a hundred thousand tasks may share, is
// not looked into.
Continuations::Leads Continuations::leads(Address awaited, Address task) {
  const Address continuation = kinds_->continuation(awaited);
  if (continuation == 0 || kinds_->kind(continuation) == AsyncKind::list) return Leads::unknown;
  Leads found = Leads::unknown;
  kinds_->targets(continuation, [&](Address waiter, AsyncKind) {
    if (found != Leads::here) found = waiter == task ? Leads::here : Leads::elsewhere;
  });
  return found;
}

// The runtime's own method between the user's and a task keeps that task, or the source that it got; what the
// method was called with that made it; and, where that was inlined, what that one waits for itself.
Address Continuations::held_by(Address continuation, Address task) {
  // .NET 11: RuntimeAsyncTaskContinuation and ValueTaskSourceContinuation name it.
  for (const char* const name : {"Task", "Source"})
    if (const Address object = kinds_->reference(continuation, name)) return object;
  const Address array = kinds_->reference(continuation, "GCData");
  if (array == 0) return 0;
  Address open = 0, source = 0, others = 0, done = 0;
  InstanceReader reader(kinds_->objects());
  const InstanceReader::Vector held = reader.vector(array);
  for (std::uint32_t i = 0; i < std::min(held.count, max_held) && held_left_ != 0; ++i) {
    --held_left_;
    const Address object = kinds_->target().read_pointer(held.at(i));
    if (object == 0) continue;
    if (kinds_->lineage(object).derives_from("System.Threading.Tasks.Task")) {
      const bool is_done = kinds_->flags(object).done();
      const Leads way = is_done ? Leads::unknown : leads(object, task);
      if (way == Leads::here) return object;
      Address& place = is_done ? done : way == Leads::elsewhere ? others : open;
      if (place == 0) place = object;
    } else if (source == 0 && kinds_->is_source(object)) {
      source = object;
    }
  }
  for (const Address object : {open, source, others})
    if (object != 0) return object;
  return done;
}

Address Continuations::end_of_workers(Address continuation) {
  const Target& target = kinds_->target();
  HeapTypes types(target);
  const char* why = nullptr;
  const auto number = types.find(kinds_->table_of(continuation), why);
  if (!number) throw_corrupt(continuation, why);
  const HeapType type = types.at(*number);
  const ReferenceMap map = read_reference_map(target, type, max_held);
  std::uint32_t held = 0;
  for (const ReferenceMap::Series& series : map.series)
    for (std::uint64_t at = series.offset; at < series.offset + series.adjusted + type.base_size;
         at += target.pointer_size()) {
      if (at >= type.base_size || ++held > max_held || held_left_ == 0) return 0;
      --held_left_;
      const Address object = target.read_pointer(continuation + at);
      if (object == 0) continue;
      // SyncForEachAsyncState`1 and its like, all ForEachAsyncState`1, are the TaskCompletionSource of all.
      if (kinds_->lineage(object).any_name([](const std::string& name) {
            return name.starts_with("System.Threading.Tasks.Parallel+") &&
                   name.find("AsyncState") != std::string::npos;
          }))
        return kinds_->reference(object, "_task");
    }
  return 0;
}

SuspendedMethods Continuations::of(Address task) {
  SuspendedMethods found;
  std::size_t count = 0;
  for (Address at = kinds_->reference(task, "m_stateObject"); at != 0; at = kinds_->reference(at, "Next")) {
    if (!kinds_->lineage(at).derives_from(continuation_type)) break;
    if (++count > max_continuations || !seen_.insert(at).second) {
      found.left_out = true;
      break;
    }
    // The last one, without a method, ends the task.
    const ResumePoint* const resume = point_of(at);
    if (resume == nullptr) continue;
    if (resume->own) {
      if (found.methods.empty() && found.awaited == 0) found.awaited = held_by(at, task);
      continue;
    }
    const auto state = kinds_->integer(at, "State");
    found.methods.push_back({at, static_cast<std::int32_t>(state.value_or(0)), resume});
  }
  return found;
}

} // namespace clr
