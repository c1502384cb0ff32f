#include "extension/publish/publisher.h"

#include "extension/lldb/breakpoint_conditions.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/executable_memory.h"
#include "extension/lldb/kept_selection.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <malloc.h>
#include <memory>
#include <mutex>

namespace clr::lldb_plugin {

namespace {
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Methods whose description takes memory that is worth being given back.
constexpr std::size_t many_methods = 5'000;
// Sentences kept for `clr publish status`.
constexpr std::size_t max_problems = 100;
constexpr std::string_view cut_stacks =
    "stacks: some of their frames are left out, because all together are too many or you asked to stop";

// `text` is one of `problems`, once, if it is `so`.
void tell(std::vector<std::string>& problems, std::string_view text, bool so) {
  std::erase(problems, text);
  if (so) problems.emplace_back(text);
}

CatalogOptions options_of(lldb::SBTarget& target, const PublishSettings& settings) {
  CatalogOptions options;
  options.lines = settings.lines;
  options.variables = settings.variables;
  options.r2r = settings.r2r;
  options.stop = [debugger = target.GetDebugger()]() mutable { return interrupt_requested(debugger); };
  // A core may lack code that lies in files.
  if (lldb::SBProcess process = target.GetProcess(); is_core(process))
    options.readable = [process](Address address) mutable {
      std::byte first{};
      lldb::SBError error;
      return process.ReadMemory(address, &first, sizeof first, error) == sizeof first && error.Success();
    };
  else
    options.grows = true;
  return options;
}

// The thread must have ended before this plugin is unloaded: the static object waits for it.
void free_later(std::unique_ptr<ModuleWriter> writer) {
  static std::mutex mutex;
  static std::unique_ptr<ModuleWriter> last;
  writer->free_values([] {
#ifdef __GLIBC__
    // Small pieces, of which the C library would keep tens of megabytes.
    malloc_trim(0);
#endif
  });
  const std::scoped_lock lock(mutex);
  last = std::move(writer);
}

// Where threads stand in code of no module.
std::vector<MemoryRange> unknown_at(lldb::SBTarget& target, const std::vector<Address>& positions) {
  std::vector<Address> unknown;
  for (const Address pc : positions)
    if (!target.ResolveLoadAddress(pc).GetModule().IsValid()) unknown.push_back(pc);
  lldb::SBProcess process = target.GetProcess();
  return executable_memory_at(process, unknown);
}

// The runtime takes memory for code and stubs from one reservation.
std::vector<MemoryRange> near_managed_code(lldb::SBTarget& target, Session& session) {
  constexpr Address margin = Address{16} << 20;
  Address begin = ~Address{0}, end = 0;
  for (const RangeSection& section : session.runtime().code()->sections()) {
    if (section.r2r_module != 0) continue;
    begin = std::min(begin, section.begin);
    end = std::max(end, section.end);
  }
  lldb::SBProcess process = target.GetProcess();
  return executable_memory_in(process, begin > margin ? begin - margin : 0, end + margin);
}
} // namespace

std::vector<MemoryRange> Publisher::update_stacks(Session& session, CatalogOptions options,
                                                  const StackPlaces& stacks, PublishLevel& level) {
  // Code that is compiled later matters to steps, which want everything.
  options.grows = false;
  return apply_part(session, std::move(options), [&](const CatalogOptions& with) {
    CatalogChange change = catalog_.add(session.runtime(), stacks.places, with);
    if (change.everything) level = PublishLevel::everything;
    return change;
  });
}

// A small core may lack parts of the tables of a ReadyToRun image, and then nobody can list its methods.
void Publisher::add_unlisted(Session& session, CatalogOptions options, const StackPlaces& stacks,
                             std::vector<MemoryRange>& added) {
  std::vector<Address> unlisted;
  for (const Address place : stacks.places) {
    const RangeSection* const section = session.runtime().code()->section_at(place);
    if (section != nullptr && section->r2r_module != 0 && !holds(place)) unlisted.push_back(place);
  }
  if (!options.r2r || unlisted.empty()) return;
  options.grows = false;
  std::vector<std::string> problems = std::move(status_.problems);
  const bool was_complete = status_.complete;
  const auto more = apply(session, std::move(options), [&](const CatalogOptions& with) {
    return catalog_.add(session.runtime(), unlisted, with);
  });
  status_.complete = status_.complete && was_complete;
  status_.problems.insert(status_.problems.begin(), problems.begin(), problems.end());
  added.insert(added.end(), more.begin(), more.end());
}

std::vector<MemoryRange> Publisher::update(Session& session, const PublishSettings& settings,
                                           PublishLevel& level, std::span<const lldb::tid_t> threads,
                                           Clock::time_point began) {
  if (modules_.empty()) withdraw_remnants(target_);
  if (session.runtime().absence() != nullptr) {
    if (!modules_.empty()) withdraw();
    return {};
  }
  lldb::SBProcess process = target_.GetProcess();
  // A core has one stop.
  const bool with_native = !native_done_ && is_core(process);
  StackPlaces stacks = stack_places(session, with_native,
                                    level == PublishLevel::stack ? threads : std::span<const lldb::tid_t>());
  if (level == PublishLevel::stack && stand_ins_.are_needed(stacks.native)) {
    level = PublishLevel::stacks;
    stacks = stack_places(session, with_native, {});
  }
  if (!stacks.whole) level = PublishLevel::everything;
  CatalogOptions options = options_of(target_, settings);
  options.exact = stacks.positions;
  options.repeated = stacks.repeated;
  if (options.grows) options.executable = unknown_at(target_, options.exact);
  const bool first = modules_.empty();
  std::vector<MemoryRange> added;
  status_.complete = true; // what was interrupted before is done again as a whole, or not asked for now
  if (is_partial(level)) {
    added = update_stacks(session, std::move(options), stacks, level);
  } else {
    added = apply(session, options,
                  [&](const CatalogOptions& with) { return catalog_.update(session.runtime(), with); });
    add_unlisted(session, std::move(options), stacks, added);
  }
  if (with_native && level != PublishLevel::stack) {
    native_done_ = !stacks.interrupted;
    stand_ins_.withdraw(); // those of stacks that were interrupted describe a part of their modules
    stand_ins_.add(session, stacks.native, status_.problems);
    tell(status_.problems,
         fmt::format("native frames: of more than {} places some have no name", StackPlaces::max_native),
         !stacks.native_whole);
  }
  tell(status_.problems, cut_stacks, stacks.cut);
  status_.complete = status_.complete && !stacks.interrupted;
  if (!added.empty()) status_.last_milliseconds = milliseconds_since(began);
  if (first) status_.first_milliseconds = status_.last_milliseconds;
  return added;
}

std::vector<MemoryRange> Publisher::add(Session& session, const PublishSettings& settings, Address ip) {
  if (holds(ip) || session.runtime().absence() != nullptr) return {};
  return apply_part(session, options_of(target_, settings),
                    [&](const CatalogOptions& with) { return catalog_.add(session.runtime(), ip, with); });
}

void Publisher::add(Session& session, const PublishSettings& settings, const std::vector<Address>& places) {
  if (session.runtime().absence() != nullptr) return;
  CatalogOptions options = options_of(target_, settings);
  options.grows = false;
  apply_part(session, std::move(options),
             [&](const CatalogOptions& with) { return catalog_.add(session.runtime(), places, with); });
}

void Publisher::add_standing(Session& session, const PublishSettings& settings,
                             const std::vector<Address>& places) {
  CatalogOptions options = options_of(target_, settings);
  options.grows = false;
  options.exact = places;
  apply_part(session, std::move(options),
             [&](const CatalogOptions& with) { return catalog_.add(session.runtime(), places, with); });
}

void Publisher::add_unknown_stubs(Session& session, const PublishSettings& settings) {
  if (modules_.empty() || session.runtime().absence() != nullptr) return;
  CatalogOptions options = options_of(target_, settings);
  if (!options.grows) return;
  options.executable = near_managed_code(target_, session);
  apply_part(session, std::move(options),
             [&](const CatalogOptions& with) { return catalog_.add_unknown(session.runtime(), with); });
}

std::vector<MemoryRange>
Publisher::apply_part(Session& session, CatalogOptions options,
                      const std::function<CatalogChange(const CatalogOptions&)>& step) {
  std::vector<std::string> problems = status_.problems;
  const bool was_complete = status_.complete;
  std::vector<MemoryRange> added = apply(session, std::move(options), step);
  status_.complete = status_.complete && was_complete;
  if (status_.problems.empty()) status_.problems = std::move(problems);
  return added;
}

std::vector<MemoryRange> Publisher::apply(Session& session, CatalogOptions options,
                                          const std::function<CatalogChange(const CatalogOptions&)>& step) {
  // LLDB reads the modules on the writer's threads too. These must not touch the target, whose lock this
  // thread may hold.
  const char* const triple_text = target_.GetTriple();
  const std::string triple = triple_text != nullptr ? triple_text : "";
  std::map<std::uint64_t, lldb::SBModule> loaded;
  std::mutex mutex; // of `loaded`
  auto writer = std::make_unique<ModuleWriter>([&](const WrittenModule& written, FileParts elf) {
    lldb::SBModule module = load_module(triple, written.file_name, elf);
    const std::scoped_lock lock(mutex);
    loaded[written.id] = std::move(module);
  });
  options.made = [&](CatalogModule made) {
    made.module.identity = new_module_identity();
    writer->add(std::move(made));
  };
  CatalogChange change = step(options);

  const KeptSelection selection(target_);
  std::vector<MemoryRange> added;
  status_.problems = std::move(change.problems);
  status_.complete = change.complete;
  drop(change.gone);
  writer->finish([&](const WrittenModule& written) {
    if (!written.fault.empty()) {
      status_.problems.push_back(written.file_name + ": " + written.fault);
      return;
    }
    try {
      lldb::SBModule module;
      {
        const std::scoped_lock lock(mutex);
        module = loaded.at(written.id);
      }
      add_module(written, std::move(module), added);
    } catch (const std::exception& error) {
      status_.problems.emplace_back(error.what());
    }
  });
  if (status_.problems.size() > max_problems) status_.problems.resize(max_problems);
  if (change.methods >= many_methods) {
    session.drop_pages();
    free_later(std::move(writer));
  }
  // LLDB keeps modules that nobody uses, with all that they hold.
  if (!change.gone.empty() && !keeps_gone_) lldb::SBModule::GarbageCollectAllocatedModules();
  return added;
}

void Publisher::add_module(const WrittenModule& written, lldb::SBModule module,
                           std::vector<MemoryRange>& added) {
  publish_module(target_, module);
  Module entry;
  entry.module = std::move(module);
  if (!written.unknown) {
    entry.methods = written.codes;
    entry.ranges = written.sections;
  }
  for (const MemoryRange& range : entry.ranges) ranges_[range.begin] = range.end();
  added.insert(added.end(), entry.ranges.begin(), entry.ranges.end());
  ++status_.modules;
  status_.methods += entry.methods;
  modules_[written.id] = std::move(entry);
}

void Publisher::drop(const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return;
  const bool parks = keeps_gone_ || modules_stay(target_);
  bool all_parked = true;
  for (const std::uint64_t id : ids) all_parked = drop(id, parks) && all_parked;
  if (!all_parked) renew_conditions(target_);
}

bool Publisher::drop(std::uint64_t id, bool parks) {
  const auto found = modules_.find(id);
  if (found == modules_.end()) return true;
  const bool parked =
      parks && static_cast<std::int64_t>(parked_.size()) < last_parking &&
      park_module(target_, found->second.module, static_cast<std::int64_t>(parked_.size()) + 1);
  if (parked)
    parked_.push_back(found->second.module);
  else
    withdraw_module(target_, found->second.module);
  for (const MemoryRange& range : found->second.ranges) ranges_.erase(range.begin);
  --status_.modules;
  status_.methods -= found->second.methods;
  modules_.erase(found);
  return parked;
}

void Publisher::refuse(std::string why) {
  status_.problems.assign(1, std::move(why));
}

void Publisher::keep_gone(bool on) {
  keeps_gone_ = on;
  if (!on && !parked_.empty() && !modules_stay(target_)) withdraw_parked();
}

void Publisher::withdraw_parked() {
  const KeptSelection selection(target_);
  for (lldb::SBModule& module : std::exchange(parked_, {})) withdraw_module(target_, module);
  renew_conditions(target_);
  lldb::SBModule::GarbageCollectAllocatedModules();
}

void Publisher::withdraw() {
  keeps_gone_ = false;
  if (!parked_.empty()) withdraw_parked();
  while (!modules_.empty()) drop(modules_.begin()->first, false);
  renew_conditions(target_);
  stand_ins_.withdraw();
  native_done_ = false;
  catalog_.clear();
  status_ = {};
  lldb::SBModule::GarbageCollectAllocatedModules();
}

bool Publisher::was_dropped() {
  return !modules_.empty() && !target_.FindModule(modules_.begin()->second.module.GetFileSpec()).IsValid();
}

bool Publisher::holds(Address address) const {
  auto next = ranges_.upper_bound(address);
  return next != ranges_.begin() && address < std::prev(next)->second;
}

} // namespace clr::lldb_plugin
