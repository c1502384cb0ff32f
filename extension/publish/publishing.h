// Publishing of managed code for every target of a debugger.
#pragma once

#include "extension/publish/publisher.h"
#include "extension/session/session_store.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <vector>

namespace clr::lldb_plugin {

// Learns of what the hooks in LLDB see.
class PublishListener {
public:
  virtual ~PublishListener() = default;
  // Before LLDB runs one of its commands; `words` as LLDB has them, its name first, null behind the last.
  // Never throws.
  virtual void before_command(lldb::SBTarget& target, const char** words) = 0;
  // At a stop, after it was published. True when there is no reason to stop. Never throws.
  virtual bool at_stop(lldb::SBTarget& target) = 0;
};

class Publishing {
public:
  explicit Publishing(std::shared_ptr<SessionStore> sessions) : sessions_(std::move(sessions)) {}

  const PublishSettings& settings() const { return settings_; }
  // What was published otherwise is taken away; the next update brings what is wanted.
  void set(const PublishSettings& settings);

  // Brings what LLDB knows of `target` up to date with its stop and returns the code that is new to it; what
  // was done for this stop already is not done again. Nothing happens when publishing is off, or when the
  // process cannot be read. Never throws.
  std::vector<MemoryRange> update(lldb::SBTarget& target);
  // The same for every target of the debugger.
  void update_all(lldb::SBDebugger& debugger);
  // Only the body that holds `ip`, which was compiled just now. Never throws.
  std::vector<MemoryRange> add(lldb::SBTarget& target, Session& session, Address ip);

  // Before a step of `target`: Publisher::add_unknown_stubs. Never throws.
  void before_step(lldb::SBTarget& target, Session& session);

  void set_listener(std::shared_ptr<PublishListener> listener) { listener_ = std::move(listener); }
  PublishListener* listener() const { return listener_.get(); }
  SessionStore& sessions() { return *sessions_; }
  // Takes everything away; the next update brings it back.
  void withdraw();

  // Null when nothing was published for the process of `target`.
  const Publisher* of(lldb::SBTarget& target) const;

private:
  struct Entry {
    lldb::SBTarget target;
    std::uint32_t process = 0;                 // LLDB's unique id
    std::uint32_t stop = 0;                    // that the last update was for
    std::uint32_t modules_without_runtime = 0; // as many as there were when there was none; 0: there was
    bool hooked = false;                       // LLDB tells us of its stops
    std::unique_ptr<Publisher> publisher;
  };
  Entry& entry_of(lldb::SBTarget& target);
  void drop_stale();
  void hook(Entry& entry);

  std::shared_ptr<SessionStore> sessions_;
  PublishSettings settings_;
  std::vector<Entry> entries_;
  std::shared_ptr<PublishListener> listener_;
};

// Keeps LLDB up to date from now on: commands that show code or frames bring their target up to date first,
// and a target that was published runs `clr publish update` at each stop, before the stop is printed. What is
// open already is published at once.
void publish_at_stops(lldb::SBDebugger& debugger, const std::shared_ptr<Publishing>& publishing);

} // namespace clr::lldb_plugin
