// Stops a process for a moment when code of a method is ready that a breakpoint may mean: the runtime itself
// tells of those methods, so that the others cost nothing.
#pragma once

#include "core/runtime/code_notifications.h"
#include "extension/breakpoints/plants.h"
#include "extension/breakpoints/wanted_methods.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

class NotificationWatch {
public:
  struct Client {
    // Where C++ exceptions are thrown, which the runtime raises its notifications by; 0: not known (yet).
    std::function<Address()> throw_place;
    // Writes to the process; false when that fails.
    std::function<bool(Address address, std::span<const std::byte> bytes)> write;
  };

  // The places must outlive this.
  NotificationWatch(Plants& plants, Client client) : plants_(&plants), client_(std::move(client)) {}

  // From now on the runtime tells of what `wishes` may mean, if it can: else nothing is changed but that
  // tells() is false. Returns true when precompiled code of a loaded module may be meant, which the runtime
  // may have told of before. Never throws. Cost: for each module that is new, or of which other methods are
  // wanted, that of wanted_methods().
  bool arm(Runtime& runtime, std::span<const BreakpointWish> wishes);
  // The runtime tells nothing any more.
  void disarm(Runtime& runtime);
  // Symbols or metadata are found elsewhere now: the next arm() looks for what is wanted anew.
  void forget();

  // What arm() returned holds of all modules that were loaded by then, and the runtime was asked to tell of
  // the methods of those that come later.
  bool knows_images() const { return armed_; }
  // The runtime tells of every method that is wanted: it was heard. A runtime that looks as if it could may
  // keep silent, because a managed debugger is attached to it.
  bool tells() const { return heard_ && armed_; }
  // A method was compiled that the runtime did not tell of. False when it should have told of something by
  // now: so many methods do not come without a module or a method that is wanted when a program starts.
  bool waits_to_hear() { return armed_ && (heard_ || ++unheard_ <= max_unheard); }
  // The method of a MethodDesc is about to be compiled, and none that is wanted: as far as the runtime may be
  // heard yet, for which this counts too. Never throws. Cost: that of Runtime::describe_once().
  bool is_unwanted(Runtime& runtime, Address method_desc);
  // A place of this is, or was, there.
  bool is_at(Address pc) const { return pc != 0 && planted_.contains(pc); }
  // A thread came to a place of this. Returns the start of the code that is ready, if any. Never throws.
  std::optional<Address> hit(Runtime& runtime);

  std::size_t hits() const { return hits_; }

  static constexpr std::size_t max_unheard = 16;

private:
  bool look(Runtime& runtime, Address module);
  bool tell_runtime(Runtime& runtime);
  void give_up(Runtime& runtime);
  void forget_unloaded(std::span<const Address> modules);
  void forget_methods();
  std::vector<MethodKey> wanted() const;

  Plants* plants_;
  Client client_;
  std::optional<CodeNotifications> places_;
  int throw_place_ = 0;
  std::set<Address> planted_;
  std::vector<BreakpointWish> wishes_;
  std::map<Address, std::vector<std::uint32_t>> methods_; // tokens by module
  std::set<Address> unlisted_;  // modules that were heard of, and that arm() did not find in a list since
  std::vector<MethodKey> told_; // that the runtime knows of
  bool armed_ = false, heard_ = false;
  bool unable_ = false; // to tell of what is wanted now
  std::size_t hits_ = 0, unheard_ = 0;
};

} // namespace clr::lldb_plugin
