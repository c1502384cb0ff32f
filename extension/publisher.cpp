#include "extension/publisher.h"

#include "core/publish/elf_module_writer.h"
#include "extension/core_file.h"
#include "extension/newer_api.h"
#include "extension/published_module.h"

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Sentences kept for `clr publish status`.
constexpr std::size_t max_problems = 100;

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
  return options;
}

std::vector<Address> positions_of(lldb::SBTarget& target) {
  std::vector<Address> positions;
  lldb::SBProcess process = target.GetProcess();
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBFrame frame = process.GetThreadAtIndex(i).GetFrameAtIndex(0);
    if (frame.IsValid()) positions.push_back(frame.GetPC());
  }
  return positions;
}
} // namespace

std::vector<PublishedRange> Publisher::update(Session& session, const PublishSettings& settings,
                                              Clock::time_point began) {
  if (session.runtime().absence() != nullptr) {
    if (!modules_.empty()) withdraw();
    return {};
  }
  CatalogOptions options = options_of(target_, settings);
  options.exact = positions_of(target_);
  const bool first = modules_.empty();
  std::vector<PublishedRange> added = apply(catalog_.update(session.runtime(), options));
  if (!added.empty()) status_.last_milliseconds = milliseconds_since(began);
  if (first) status_.first_milliseconds = status_.last_milliseconds;
  return added;
}

std::vector<PublishedRange> Publisher::add(Session& session, const PublishSettings& settings, Address ip) {
  if (holds(ip) || session.runtime().absence() != nullptr) return {};
  return apply(catalog_.add(session.runtime(), ip, options_of(target_, settings)));
}

std::vector<PublishedRange> Publisher::apply(CatalogChange change) {
  std::vector<PublishedRange> added;
  status_.problems = std::move(change.problems);
  for (const std::uint64_t id : change.gone) drop(id);
  for (const CatalogModule& made : change.added) {
    try {
      add_module(made, added);
    } catch (const std::exception& error) {
      status_.problems.emplace_back(error.what());
    }
  }
  if (status_.problems.size() > max_problems) status_.problems.resize(max_problems);
  // LLDB keeps modules that nobody uses, with all that they hold.
  if (!change.gone.empty()) lldb::SBModule::GarbageCollectAllocatedModules();
  return added;
}

void Publisher::add_module(const CatalogModule& made, std::vector<PublishedRange>& added) {
  Module entry;
  entry.module = publish_module(target_, made.module.file_name, write_elf_module(made.module));
  entry.methods = made.module.code.size();
  for (const DebugSection& section : made.module.sections) {
    entry.ranges.push_back({section.begin, section.end});
    ranges_[section.begin] = section.end;
  }
  added.insert(added.end(), entry.ranges.begin(), entry.ranges.end());
  ++status_.modules;
  status_.methods += entry.methods;
  modules_[made.id] = std::move(entry);
}

void Publisher::drop(std::uint64_t id) {
  const auto found = modules_.find(id);
  if (found == modules_.end()) return;
  withdraw_module(target_, found->second.module);
  for (const PublishedRange& range : found->second.ranges) ranges_.erase(range.begin);
  --status_.modules;
  status_.methods -= found->second.methods;
  modules_.erase(found);
}

void Publisher::withdraw() {
  while (!modules_.empty()) drop(modules_.begin()->first);
  catalog_.clear();
  status_ = {};
  lldb::SBModule::GarbageCollectAllocatedModules();
}

bool Publisher::holds(Address address) const {
  auto next = ranges_.upper_bound(address);
  return next != ranges_.begin() && address < std::prev(next)->second;
}

} // namespace clr::lldb_plugin
