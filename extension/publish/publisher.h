// Gives LLDB the managed code of one process as modules of its own, so that LLDB's own commands (bt, b, step,
// source list, frame variable) know it.
#pragma once

#include "core/publish/code_catalog.h"
#include "core/publish/module_writer.h"
#include "extension/publish/native_stand_ins.h"
#include "extension/publish/publish_level.h"
#include "extension/session/session.h"
#include "extension/session/stack_walk.h"

#include <lldb/API/LLDB.h>

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The choice of what is published, as `clr settings` sets it.
struct PublishSettings {
  bool on = true;
  bool lines = true, variables = true, r2r = true;
  PublishTime when = PublishTime::automatic;
  friend bool operator==(const PublishSettings&, const PublishSettings&) = default;
};

struct PublishStatus {
  std::size_t modules = 0, methods = 0;
  double first_milliseconds = 0,
         last_milliseconds = 0; // of the first update, of the last that changed something
  bool complete = true;         // false: the user interrupted an update, which the next one goes on with
  std::vector<std::string> problems;
};

class Publisher {
public:
  explicit Publisher(lldb::SBTarget target) : target_(target), stand_ins_(std::move(target)) {}

  // Brings LLDB up to date with the session's stop: withdraws what was freed, adds what is new. Of `level`
  // stacks only what stands on them, of `stack` on those of `threads`, unless a stack cannot be walked by the
  // core, or native modules need stand-ins, which describe all stacks; `level` becomes the one that was
  // reached. Returns the ranges of the modules that are new. `began` is when the work for this stop did.
  // Never throws.
  std::vector<MemoryRange> update(Session& session, const PublishSettings& settings, PublishLevel& level,
                                  std::span<const lldb::tid_t> threads,
                                  std::chrono::steady_clock::time_point began);
  // Adds the bodies and stubs that hold `places`, as far as they are not known. Never throws.
  void add(Session& session, const PublishSettings& settings, const std::vector<Address>& places);
  // The same where threads stand, which LLDB is about to show.
  void add_standing(Session& session, const PublishSettings& settings, const std::vector<Address>& places);
  // Adds the body that holds `ip` if it is not known yet: code that was compiled just now. Never throws.
  std::vector<MemoryRange> add(Session& session, const PublishSettings& settings, Address ip);
  // Before the process runs on by a step: memory near the managed code that may hold stubs which the runtime
  // lists nowhere, since a step that gets there must find out of it. Never throws. Cost: a look at the memory
  // map for each mapping there.
  void add_unknown_stubs(Session& session, const PublishSettings& settings);
  // Why there was no update: the only problem of status() until there is one.
  void refuse(std::string why);
  // The next call makes modules anew that were made by other choices.
  void reconsider() { catalog_.reconsider(); }
  // Takes those stand-ins of native modules away whose place a module of LLDB's has taken. Cost: a look at
  // the names of all modules when their number has changed.
  void make_way() { stand_ins_.make_way(); }
  // Takes every module away; the next update brings all back.
  void withdraw();
  // `on`: the process may run on from this stop before anybody asks LLDB for anything, so modules that are
  // gone are moved out of the way, and taken away when it is off again. LLDB tells clients of modules that it
  // takes away when the process runs already; lldb-dap 22 has it look at frames then, of where the thread
  // stood, and LLDB judges by these whether its step has ended.
  void keep_gone(bool on);
  // True when something was published and LLDB has it no more: it drops all modules of a target whose search
  // paths change (`target modules search-paths`), and loads only those that the process itself has again.
  bool was_dropped();

  const PublishStatus& status() const { return status_; }
  // The variables, types and ranges that the published modules lack, with the reasons.
  Omissions omissions() const { return catalog_.omissions(); }
  // True when a module of this publisher describes the code at `address`.
  bool holds(Address address) const;

private:
  struct Module {
    lldb::SBModule module;
    std::size_t methods = 0;
    std::vector<MemoryRange> ranges; // without those of unknown code
  };
  // Runs one call of the catalog with `options`, and gives LLDB what it finds.
  std::vector<MemoryRange> apply(Session& session, CatalogOptions options,
                                 const std::function<CatalogChange(const CatalogOptions&)>& step);
  // The same of a part of the code: what is known of the rest stays.
  std::vector<MemoryRange> apply_part(Session& session, CatalogOptions options,
                                      const std::function<CatalogChange(const CatalogOptions&)>& step);
  std::vector<MemoryRange> update_stacks(Session& session, CatalogOptions options, const StackPlaces& stacks,
                                         PublishLevel& level);
  void add_unlisted(Session& session, CatalogOptions options, const StackPlaces& stacks,
                    std::vector<MemoryRange>& added);
  void add_module(const WrittenModule& written, lldb::SBModule module, std::vector<MemoryRange>& added);
  // Modules that are gone are parked or taken away, and conditions of breakpoints renewed where they are.
  void drop(const std::vector<std::uint64_t>& ids);
  // True when the module was parked.
  bool drop(std::uint64_t id, bool parks);
  void withdraw_parked();

  lldb::SBTarget target_;
  CodeCatalog catalog_;
  std::map<std::uint64_t, Module> modules_;
  std::map<Address, Address> ranges_; // begin to end, of all modules
  PublishStatus status_;
  NativeStandIns stand_ins_;
  bool keeps_gone_ = false;
  std::vector<lldb::SBModule> parked_; // that are gone
  bool native_done_ = false;           // stand-ins were looked for
};

} // namespace clr::lldb_plugin
