// How threads and owners of locks are called.
#include "core/runtime/lock_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

std::string LockReporter::thread_text(std::uint64_t os_id) const {
  const unsigned index = index_of(os_id);
  std::string text = index != 0 ? fmt::format("thread #{}", index) : fmt::format("thread {}", os_id);
  const RuntimeThread* const thread = stacks_->thread_of(os_id);
  std::string name = thread != nullptr ? thread->name.value_or("") : "";
  if (const auto start = std::ranges::find(starts_, os_id, &ThreadStart::os_id);
      name.empty() && start != starts_.end())
    name = start->name;
  if (!name.empty()) text += fmt::format(" '{}'", name);
  return text;
}

std::string LockReporter::holder_text(const LockHolder& holder) const {
  if (holder.os_id) return thread_text(*holder.os_id);
  const ThreadList& known = stacks_->threads();
  const bool all =
      known.problem.empty() && std::ranges::all_of(known.threads, [](const RuntimeThread& thread) {
        return thread.os_id.has_value() && thread.managed_id.has_value();
      });
  if (!all)
    return holder.managed_id ? fmt::format("a thread that could not be found (its managed number is {})",
                                           *holder.managed_id)
                             : "a thread that could not be found";
  if (holder.managed_id)
    return fmt::format("a thread that is no more (its managed number was {})", *holder.managed_id);
  return "a thread that is no more";
}

} // namespace clr
