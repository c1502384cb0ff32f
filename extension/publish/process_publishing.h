// The managed code of one process, as LLDB was told of it.
#pragma once

#include "core/runtime/named_code.h"
#include "extension/publish/publish_state.h"
#include "extension/publish/publisher.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

class ProcessPublishing {
public:
  // The sessions and the settings must outlive this. `hook`: the number of the target's hook.
  ProcessPublishing(lldb::SBTarget target, std::uint32_t hook, StopSession& sessions,
                    const PublishSettings& settings)
      : target_(target), hook_(hook), sessions_(&sessions), settings_(&settings),
        publisher_(std::move(target)) {}

  // The command that LLDB runs at each stop of a target, and the option of it that says of which: LLDB gives
  // the command of a plugin no other way to know. 0: a hook that LLDB copied; see
  // Workspace::targets_of_copied_hook.
  static constexpr const char *hook_command = "clr publish update", *hook_option = "--hook";

  const PublishSettings& settings() const { return *settings_; }

  // Brings what LLDB knows up to date with this stop, to `level` at least (of level `stack` the selected
  // thread), and returns the code that is new to it; what was done for this stop already is not done again,
  // and what the user interrupted is gone on with. Nothing happens when publishing is off, or when the
  // process cannot be read. A fault of the target becomes a problem of status().
  std::vector<MemoryRange> update(PublishLevel level = PublishLevel::everything);
  // The same before the command `words` of LLDB's, to the `level` that it needs, and then what else it names.
  void before_command(PublishLevel level, std::span<const std::string_view> words);
  // The same before a command that needs what stands on stacks, and the code that it asks for.
  void before_command(const AskedCode& asked);
  // The code that breakpoints may mean and that is found in `where`, with what stands on stacks. `told`: from
  // now on somebody tells of each method of that code when it is compiled, so that it is looked for once, and
  // again when there are other breakpoints or images.
  void for_breakpoints(const AskedCode& asked, SearchedCode where, bool told);
  // The same at a stop, which LLDB shows.
  void at_stop(PublishLevel level);
  // The same at a stop of which LLDB shows nothing but `places`, where threads stand in code that is
  // published: the stacks wait for a command, and so does what breakpoints may mean.
  void at_known_places(const std::vector<Address>& places);
  // The code that is asked for, while the process stands for a moment; false when only everything is sure to
  // contain it.
  bool add_asked(Session& session, const AskedCode& asked);
  // Only the body that holds `ip`, which was compiled just now.
  std::vector<MemoryRange> add(Session& session, Address ip);
  // Before the process runs on by a step: Publisher::add_unknown_stubs.
  void before_step(Session& session);
  // Takes everything away; the next update brings it back.
  void withdraw();
  // Makes known to LLDB the native modules of a core that it lacks, once: update() does, and what needs
  // LLDB's symbols of native code and nothing that is published. Nothing happens when publishing is off.
  void add_native(Session& session);
  // Publisher::keep_gone.
  void keep_gone(bool on) { publisher_.keep_gone(on); }
  // The user's choices, or the places of symbols, are others: the next update makes anew what is concerned.
  void reconsider();

  // False when nothing was ever to be published of this process.
  bool begun() const { return state_.begun(); }
  // The level that was reached for the present stop.
  PublishLevel level();
  // False when the user interrupted the last update.
  bool complete() const { return state_.complete(); }
  const PublishStatus& status() const { return publisher_.status(); }
  // All that could not be described, with the reasons.
  Omissions omissions() const { return publisher_.omissions(); }
  // True when what was published describes the code at `address`.
  bool holds(Address address) const { return publisher_.holds(address); }

  // From now on LLDB tells of every stop of the target's process, also when nothing is published yet.
  // Nothing happens when publishing is off.
  void follow_stops();

private:
  // Of level `stack` these threads.
  std::vector<MemoryRange> update(PublishLevel level, std::vector<lldb::tid_t> threads);
  // The threads whose frames LLDB shows at a stop by itself; nothing when these are many.
  std::optional<std::vector<lldb::tid_t>> shown_at_stop();
  void hook();
  // False when nothing can be read now.
  bool reads();
  void add(Session& session, const std::vector<Address>& places);
  // Publishes the code that is asked for; false when only everything is sure to contain it.
  bool add(Session& session, const AskedCode& asked, SearchedCode where = SearchedCode::all);

  lldb::SBTarget target_;
  std::uint32_t hook_; // its number
  StopSession* sessions_;
  const PublishSettings* settings_;
  Publisher publisher_;
  PublishState state_;
  // What breakpoints asked for when their code was last looked for, and how many images there were.
  std::optional<std::pair<AskedCode, std::size_t>> looked_for_;
  bool hooked_ = false;       // LLDB tells us of its stops
  bool native_added_ = false; // its native modules are known to LLDB, as far as there are files
};

} // namespace clr::lldb_plugin
