#include "extension/door/door.h"

#include "core/memory/error.h"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace clr::lldb_plugin {
namespace {

std::mutex new_handler_mutex; // of the next two
unsigned throwing_news = 0;
std::new_handler hosts_new_handler = nullptr;

} // namespace

ThrowingNew::ThrowingNew() noexcept {
  const std::scoped_lock lock(new_handler_mutex);
  if (throwing_news++ == 0) hosts_new_handler = std::set_new_handler(nullptr);
}

ThrowingNew::~ThrowingNew() {
  const std::scoped_lock lock(new_handler_mutex);
  if (--throwing_news == 0) std::set_new_handler(hosts_new_handler);
}

std::string text_of(const std::exception_ptr& thrown) noexcept {
  try {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      return "out of memory";
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "unknown failure";
    }
  } catch (...) {
    return {}; // no memory for the text
  }
}

LogEntry Door::log_entry(Way way) {
  switch (way) {
  case Way::load:
    break;
  case Way::command:
    return LogEntry::command;
  case Way::override:
    return LogEntry::command_override;
  case Way::stop_hook:
    return LogEntry::stop_hook;
  case Way::compile_hook:
  case Way::handler_stop:
    return LogEntry::breakpoint;
  case Way::summary:
    return LogEntry::summary;
  case Way::script:
    return LogEntry::c_interface;
  }
  return LogEntry::plugin;
}

Door::Lock Door::wait(LoggedCall& logged) {
  Lock lock(mutex_, max_wait_);
  if (lock.owns_lock()) return lock;
  logged.lost_turn();
  {
    const std::scoped_lock of_troubles(troubles_mutex_);
    ++troubles_.lost_turns;
  }
  throw Error(ErrorKind::busy, "another command of lldb-clr is running");
}

Door::Troubles Door::troubles() const {
  const std::scoped_lock lock(troubles_mutex_);
  return troubles_;
}

void Door::failed(Way way, const std::exception_ptr& thrown) noexcept {
  failed(way, text_of(thrown));
}

void Door::failed(Way way, std::string_view why) noexcept {
  try {
    const std::string text =
        fmt::format("a call of LLDB's ({}) was not handled: {}; clr publish status counts such calls",
                    to_string(way), why);
    bool first = false;
    {
      const std::scoped_lock lock(troubles_mutex_);
      ++troubles_.unhandled;
      troubles_.last = text;
      first = !std::exchange(told_[static_cast<std::size_t>(way)], true);
    }
    if (first && tell_) tell_(text);
  } catch (...) {
    // Nothing is left to say it with; the count stands.
  }
}

void Doors::add(std::uint64_t debugger, const std::shared_ptr<Door>& door) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(doors_, [](const auto& entry) { return entry.second.expired(); });
  doors_[debugger] = door;
}

std::shared_ptr<Door> Doors::find(std::uint64_t debugger) const {
  const std::scoped_lock lock(mutex_);
  const auto found = doors_.find(debugger);
  return found == doors_.end() ? nullptr : found->second.lock();
}

Doors& doors() {
  static Doors& all = *new Doors;
  return all;
}

} // namespace clr::lldb_plugin
