// The one way from LLDB into the plugin.
#pragma once

#include "extension/door/faults.h"
#include "extension/door/log.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

class Door;

// Proof that its holder has passed the door: while it exists no other thread is inside. Only Door makes one,
// and whatever leads to a debugged process asks for it, so that nobody gets there around the lock.
class Turn {
public:
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  Door& door() const { return *door_; }

private:
  friend class Door;
  explicit Turn(Door& door) : door_(&door) {}
  Door* door_;
};

// The text of an exception, as a command's error shows it: "out of memory", what() of a std::exception,
// "unknown failure". Never throws.
std::string text_of(const std::exception_ptr& thrown) noexcept;

// LLDB's driver makes a failing `new` end the process (std::set_new_handler). As long as one of these lives,
// it throws std::bad_alloc again, which the door turns into "out of memory". They may overlap, on any
// threads.
class ThrowingNew {
public:
  ThrowingNew() noexcept;
  ThrowingNew(const ThrowingNew&) = delete;
  ThrowingNew& operator=(const ThrowingNew&) = delete;
  ~ThrowingNew();
};

// LLDB calls the plugin on several threads, and is itself built without exceptions: who comes in by the door
// has it to himself, and no exception gets out. There is one for each debugger, whose state is derived from
// it.
class Door {
public:
  // Says one sentence to the user; may throw.
  using Tell = std::function<void(std::string_view)>;
  // LLDB's own locks may stand crosswise to this one, so nobody waits for it longer than `max_wait`.
  explicit Door(Tell tell, std::chrono::milliseconds max_wait = usual_wait,
                FaultPlan faults = FaultPlan::of_environment())
      : tell_(std::move(tell)), max_wait_(max_wait), faults_(faults) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  virtual ~Door() = default;

  static constexpr std::chrono::milliseconds usual_wait{2000};

  // For who shows errors himself, and has a handler of every exception: calls `act` with a turn and returns
  // what it returns. Throws Error{busy} when no turn was to be had, and what `act` throws. Who is inside may
  // come in again. The debug log gets a line of it, with what was `asked`.
  template<typename Act>
  decltype(auto) call(Way way, const Act& act, std::string_view asked = {}) {
    LoggedCall logged(log_entry(way), asked);
    try {
      const std::unique_lock lock = wait(logged);
      const Turn turn(*this);
      const ThrowingNew throwing;
      faults_.at(way);
      return act(turn);
    } catch (const Error& error) {
      logged.fault(error);
      throw;
    }
  }

  // For callbacks, which have nobody to show an error to: as call(), but nothing is thrown. `otherwise` is
  // returned when there was no turn or `act` threw, and the user is told so, once for each way; troubles()
  // counts every time.
  template<typename Result, typename Act>
  Result pass(Way way, Result otherwise, const Act& act) noexcept {
    try {
      return call(way, act);
    } catch (...) {
      failed(way, std::current_exception());
      return otherwise;
    }
  }

  struct Troubles {
    std::size_t lost_turns = 0; // by anybody, told as an error or counted below too
    std::size_t unhandled = 0;  // callbacks that did nothing, because of an exception or for want of a turn
    std::string last;           // the sentence of the last one; empty: there was none
  };
  Troubles troubles() const;

  // A callback found nothing to work on: counts and tells as a fault of `way`.
  void failed(Way way, std::string_view why) noexcept;

private:
  using Lock = std::unique_lock<std::recursive_timed_mutex>;
  static LogEntry log_entry(Way way);
  Lock wait(LoggedCall& logged);
  void failed(Way way, const std::exception_ptr& thrown) noexcept;

  Tell tell_;
  std::chrono::milliseconds max_wait_;
  FaultPlan faults_;
  std::recursive_timed_mutex mutex_;
  mutable std::mutex troubles_mutex_; // of the rest
  Troubles troubles_;
  std::array<bool, way_count> told_{};
};

// The doors of all debuggers by the debuggers' numbers, which are never used again. LLDB's callbacks bring
// nothing else that outlives everything. A door is held here only as long as its debugger's commands hold it.
class Doors {
public:
  void add(std::uint64_t debugger, const std::shared_ptr<Door>& door);
  // Null: the plugin is not loaded in this debugger, or the debugger is gone.
  std::shared_ptr<Door> find(std::uint64_t debugger) const;

private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Door>> doors_;
};

// The plugin's. Never destroyed: LLDB may print values until the very end.
Doors& doors();

// For an act that needs nothing of the plugin's state (the text of a date), and so no turn: `otherwise` when
// it throws. Where the door is known the user is told.
template<typename Result, typename Act>
Result shelter(const Doors& all, std::uint64_t debugger, Way way, Result otherwise, const Act& act) noexcept {
  try {
    FaultPlan::of_environment().at(way);
    return act();
  } catch (...) {
    const std::shared_ptr<Door> door = all.find(debugger);
    if (door) door->failed(way, text_of(std::current_exception()));
    return otherwise;
  }
}

} // namespace clr::lldb_plugin
