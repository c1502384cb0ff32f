// The functions that LLDB may call: every callback of the plugin's is registered here and nowhere else, and
// none can be registered that does not pass the door. What is called gets a Turn, which leads to the
// debugged processes; LLDB itself hands its callbacks nothing that could be gone by then.
#pragma once

#include "extension/door/door.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/output.h"
#include "extension/lldb/own_command.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

// --- Breakpoints

// The breakpoint that a thread came to, and where that is.
struct HitPlace {
  lldb::break_id_t breakpoint = 0;
  lldb::addr_t address = LLDB_INVALID_ADDRESS;
};
// Called when `thread` of `process` came to a breakpoint. False: the process goes on.
using HitVisit = bool (*)(const Turn& turn, lldb::SBProcess& process, lldb::SBThread& thread,
                          const HitPlace& place);

class HitEntry {
public:
  // From now on a hit of `breakpoint` calls it.
  void attach(lldb::SBBreakpoint& breakpoint) const;

private:
  template<Way way, HitVisit visit, bool otherwise>
  friend HitEntry hit_entry();
  explicit HitEntry(lldb::SBBreakpointHitCallback raw) : raw_(raw) {}
  lldb::SBBreakpointHitCallback raw_;
};

// --- Modules

// LLDB is about to load a module, of the file that is named so, for a process of `debugger`'s selected
// target.
using ModuleVisit = void (*)(const Turn& turn, lldb::SBDebugger& debugger, std::string_view file);

// --- Commands of LLDB's

// Before LLDB runs one of its commands in `debugger`; `words` as LLDB has them, its name first, null behind
// the last.
using CommandVisit = void (*)(const Turn& turn, lldb::SBDebugger& debugger, const char** words);
// The same in place of one: true when that is done which the command was asked for, so that LLDB does not run
// it.
using CommandStandIn = bool (*)(const Turn& turn, lldb::SBDebugger& debugger, const char** words);

// --- Texts beside values

// The text of `value`; empty: it has none.
using SummaryVisit = std::string (*)(const Turn& turn, lldb::SBValue& value);
// The same for values that say all by themselves.
using PlainSummaryVisit = std::string (*)(lldb::SBValue& value);

class SummaryEntry {
public:
  // Invalid when LLDB refuses it.
  lldb::SBTypeSummary make(std::uint32_t options, const char* description) const;

private:
  template<SummaryVisit visit>
  friend SummaryEntry summary_entry();
  template<PlainSummaryVisit visit>
  friend SummaryEntry plain_summary_entry();
  using Raw = bool (*)(lldb::SBValue, lldb::SBTypeSummaryOptions, lldb::SBStream&);
  explicit SummaryEntry(Raw raw) : raw_(raw) {}
  Raw raw_;
};

// --- What stands below values

// The number of parts of `value`; nothing: LLDB shows what it makes of the declared type.
using PartCountVisit = std::optional<std::uint64_t> (*)(const Turn& turn, lldb::SBValue& value);
// One of them; invalid: there is none.
using PartVisit = lldb::SBValue (*)(const Turn& turn, lldb::SBValue& value, std::uint64_t index);
using PartFindVisit = std::optional<std::uint64_t> (*)(const Turn& turn, lldb::SBValue& value,
                                                       std::string_view name);

// LLDB asks classes of Python's for these, which call the plugin by addresses and hand it LLDB's values by
// theirs. -1 stands for nothing.
class PartsEntry {
public:
  std::uintptr_t count() const { return reinterpret_cast<std::uintptr_t>(count_); }
  std::uintptr_t part() const { return reinterpret_cast<std::uintptr_t>(part_); }
  std::uintptr_t find() const { return reinterpret_cast<std::uintptr_t>(find_); }

private:
  template<PartCountVisit count, PartVisit part, PartFindVisit find>
  friend PartsEntry parts_entry();
  std::int64_t (*count_)(lldb::SBValue*) = nullptr;
  void (*part_)(lldb::SBValue*, std::uint64_t, lldb::SBValue*) = nullptr;
  std::int64_t (*find_)(lldb::SBValue*, const char*) = nullptr;
};

// --- Commands of the plugin's

// A command of LLDB's, which owns it for the debugger's life; it keeps the debugger's door.
class CommandEntry : public lldb::SBCommandPluginInterface {
public:
  explicit CommandEntry(std::shared_ptr<Door> door) : door_(std::move(door)) {}
  // Called by LLDB. Every exception becomes an "error:" line.
  bool DoExecute(lldb::SBDebugger debugger, char** arguments, lldb::SBCommandReturnObject& result) final;

  // One run, made of the command's words.
  class Run {
  public:
    virtual ~Run() = default;
    // The command and the names of its options, for the log.
    virtual std::string asked() const = 0;
    virtual void run(const Turn& turn, lldb::SBDebugger& debugger, Output& out) = 0;
  };

protected:
  // Without a turn: must touch no state. Null when there is nothing to run, as of a call for help.
  virtual std::unique_ptr<Run> parse(std::vector<std::string> words, Output& out) = 0;

private:
  std::shared_ptr<Door> door_;
};

// Adds `command` under `name` with its one line and syntax to the interpreter, or to `tree` when that is
// valid, and returns it. False from name_is_taken must have come before.
lldb::SBCommand add_command(lldb::SBDebugger& debugger, lldb::SBCommand tree, const char* name,
                            std::unique_ptr<CommandEntry> command, const char* help, const char* syntax);
lldb::SBCommand add_tree(lldb::SBDebugger& debugger, const char* name, const char* help);
// Built-in commands, aliases and what other plugins and scripts added.
bool name_is_taken(lldb::SBDebugger& debugger, const std::string& name);

// --- How it is done

namespace entries {

// The number by which the door of a value's or process's debugger is found.
std::uint64_t debugger_of(const lldb::SBTarget& target);
// A hit in a debugger whose plugin is gone: told there, once.
void nobody_there(lldb::SBTarget target, Way way) noexcept;
void set_overrides(lldb::SBDebugger& debugger, std::span<const char* const> commands,
                   lldb::CommandOverrideCallback raw);
bool print(lldb::SBStream& stream, const std::string& text);

template<Way way, HitVisit visit, bool otherwise>
bool hit(void*, lldb::SBProcess& process, lldb::SBThread& thread, lldb::SBBreakpointLocation& location) {
  const std::shared_ptr<Door> door = doors().find(debugger_of(process.GetTarget()));
  if (!door) {
    nobody_there(process.GetTarget(), way);
    return false;
  }
  return door->pass(way, otherwise, [&](const Turn& turn) {
    return visit(turn, process, thread, {location.GetBreakpoint().GetID(), location.GetLoadAddress()});
  });
}

std::string file_name_of(const lldb::SBModuleSpec& module);
lldb::SBError no_module();

template<ModuleVisit visit>
lldb::SBError at_module(void* baton, const lldb::SBModuleSpec& module, lldb::SBFileSpec&, lldb::SBFileSpec&) {
  const auto debugger = reinterpret_cast<std::uintptr_t>(baton);
  if (const std::shared_ptr<Door> door = doors().find(debugger))
    door->pass(Way::stop_hook, false, [&](const Turn& turn) {
      lldb::SBDebugger found = lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(debugger));
      if (found.IsValid()) visit(turn, found, file_name_of(module));
      return found.IsValid();
    });
  return no_module();
}

template<CommandStandIn stand_in>
bool at_command(void* baton, const char** words) {
  if (runs_own()) return false;
  const auto debugger = reinterpret_cast<std::uintptr_t>(baton);
  const std::shared_ptr<Door> door = doors().find(debugger);
  return door && door->pass(Way::override, false, [&](const Turn& turn) {
    lldb::SBDebugger found = lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(debugger));
    return found.IsValid() && stand_in(turn, found, words);
  });
}

template<CommandVisit visit>
bool visit_alone(const Turn& turn, lldb::SBDebugger& debugger, const char** words) {
  visit(turn, debugger, words);
  return false; // LLDB goes on with its command
}

template<SummaryVisit visit>
bool summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  const std::shared_ptr<Door> door = doors().find(debugger_of(value.GetTarget()));
  if (!door) return false;
  return door->pass(Way::summary, false, [&](const Turn& turn) { return print(stream, visit(turn, value)); });
}

template<PlainSummaryVisit visit>
bool plain_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return shelter(doors(), debugger_of(value.GetTarget()), Way::summary, false,
                 [&] { return print(stream, visit(value)); });
}

std::int64_t index_or_none(std::optional<std::uint64_t> index);

template<PartCountVisit visit>
std::int64_t part_count(lldb::SBValue* value) {
  const std::shared_ptr<Door> door = doors().find(debugger_of(value->GetTarget()));
  if (!door) return -1;
  return door->pass(Way::summary, std::int64_t{-1},
                    [&](const Turn& turn) { return index_or_none(visit(turn, *value)); });
}

template<PartVisit visit>
void part(lldb::SBValue* value, std::uint64_t index, lldb::SBValue* made) {
  const std::shared_ptr<Door> door = doors().find(debugger_of(value->GetTarget()));
  if (door)
    door->pass(Way::summary, false, [&](const Turn& turn) {
      *made = visit(turn, *value, index);
      return true;
    });
}

template<PartFindVisit visit>
std::int64_t part_find(lldb::SBValue* value, const char* name) {
  const std::shared_ptr<Door> door = doors().find(debugger_of(value->GetTarget()));
  if (!door || name == nullptr) return -1;
  return door->pass(Way::summary, std::int64_t{-1},
                    [&](const Turn& turn) { return index_or_none(visit(turn, *value, name)); });
}

} // namespace entries

template<PartCountVisit count, PartVisit part, PartFindVisit find>
PartsEntry parts_entry() {
  PartsEntry entry;
  entry.count_ = &entries::part_count<count>;
  entry.part_ = &entries::part<part>;
  entry.find_ = &entries::part_find<find>;
  return entry;
}

// `otherwise`: what a hit means that could not be handled.
template<Way way, HitVisit visit, bool otherwise>
HitEntry hit_entry() {
  return HitEntry(&entries::hit<way, visit, otherwise>);
}

// From now on `visit` is called before each of `commands` (not their aliases, which end in these), as long as
// LLDB lives and the debugger has a door: LLDB takes no override back.
template<CommandVisit visit>
void call_before(lldb::SBDebugger& debugger, std::span<const char* const> commands) {
  entries::set_overrides(debugger, commands, &entries::at_command<&entries::visit_alone<visit>>);
}
template<CommandStandIn stand_in>
void call_instead(lldb::SBDebugger& debugger, const char* command) {
  entries::set_overrides(debugger, std::span(&command, 1), &entries::at_command<stand_in>);
}

// From now on `visit` is called for each module that LLDB is about to load for a process of this host, as far
// as this LLDB does so (call_when_located).
template<ModuleVisit visit>
void call_before_modules(lldb::SBDebugger& debugger) {
  call_when_located(debugger, &entries::at_module<visit>, reinterpret_cast<void*>(debugger.GetID()));
}

template<SummaryVisit visit>
SummaryEntry summary_entry() {
  return SummaryEntry(&entries::summary<visit>);
}
template<PlainSummaryVisit visit>
SummaryEntry plain_summary_entry() {
  return SummaryEntry(&entries::plain_summary<visit>);
}

} // namespace clr::lldb_plugin
