#include "core/waits/continuations.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::string_view continuation_type = "System.Runtime.CompilerServices.Continuation";
// What a method keeps of its surroundings, and does not wait for.
constexpr std::array context_types{"System.Threading.ExecutionContext",
                                   "System.Threading.SynchronizationContext",
                                   "System.Threading.Tasks.TaskScheduler", "System.Exception"};

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

// The runtime's own method between the user's and a task keeps that task, or the source that it got.
Address Continuations::held_by(Address continuation) {
  // .NET 11: RuntimeAsyncTaskContinuation and ValueTaskSourceContinuation name it.
  for (const char* const name : {"Task", "Source"})
    if (const Address object = kinds_->reference(continuation, name)) return object;
  const Address array = kinds_->reference(continuation, "GCData");
  if (array == 0) return 0;
  InstanceReader reader(kinds_->objects());
  const InstanceReader::Vector held = reader.vector(array);
  for (std::uint32_t i = 0; i < std::min(held.count, max_held); ++i) {
    const Address object = kinds_->target().read_pointer(held.at(i));
    if (object == 0) continue;
    const TypeLineage& lineage = kinds_->lineage(object);
    const bool context = std::ranges::any_of(
        context_types, [&](const char* const name) { return lineage.derives_from(name); });
    if (!context && !lineage.derives_from(continuation_type)) return object;
  }
  return 0;
}

SuspendedMethods Continuations::of(Address task) {
  SuspendedMethods found;
  std::unordered_set<Address> seen;
  for (Address at = kinds_->reference(task, "m_stateObject"); at != 0; at = kinds_->reference(at, "Next")) {
    if (!kinds_->lineage(at).derives_from(continuation_type)) break;
    if (seen.size() >= max_continuations || !seen.insert(at).second) {
      found.left_out = true;
      break;
    }
    // The last one, without a method, ends the task.
    const ResumePoint* const resume = point_of(at);
    if (resume == nullptr) continue;
    if (resume->own) {
      if (found.methods.empty() && found.awaited == 0) found.awaited = held_by(at);
      continue;
    }
    const auto state = kinds_->integer(at, "State");
    found.methods.push_back({at, static_cast<std::int32_t>(state.value_or(0)), resume});
  }
  return found;
}

} // namespace clr
