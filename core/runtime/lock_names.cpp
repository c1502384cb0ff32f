// How threads and owners of locks are called.
#include "core/runtime/lock_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

std::string LockReporter::thread_text(std::uint64_t os_id) const {
  const ThreadStart* const start = start_of(os_id);
  std::string text = start != nullptr && start->index != 0 ? fmt::format("thread #{}", start->index)
                                                           : fmt::format("thread {}", os_id);
  const RuntimeThread* const thread = stacks_->thread_of(os_id);
  std::string name = thread != nullptr ? thread->name.value_or("") : "";
  if (name.empty() && start != nullptr) name = start->name;
  if (!name.empty()) text += fmt::format(" '{}'", name);
  return text;
}

std::string LockReporter::holder_text(const LockHolder& holder) const {
  if (holder.os_id) return thread_text(*holder.os_id);
  if (!all_threads_known_) {
    const ThreadList& known = stacks_->threads();
    all_threads_known_ =
        known.problem.empty() && std::ranges::all_of(known.threads, [](const RuntimeThread& thread) {
          return thread.os_id.has_value() && thread.managed_id.has_value();
        });
  }
  if (!*all_threads_known_)
    return holder.managed_id ? fmt::format("a thread that could not be found (its managed number is {})",
                                           *holder.managed_id)
                             : "a thread that could not be found";
  if (holder.managed_id)
    return fmt::format("a thread that is no more (its managed number was {})", *holder.managed_id);
  return "a thread that is no more";
}

} // namespace clr
