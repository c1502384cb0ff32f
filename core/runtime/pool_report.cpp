#include "core/runtime/pool_report.h"

#include "core/runtime/async_names.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace clr {
namespace {

class ItemNames {
public:
  explicit ItemNames(Runtime& runtime)
      : lineages_(runtime.names()->types()), kinds_(*runtime.objects(), lineages_), names_(runtime) {}

  std::string of(Address item) {
    try {
      return name(item);
    } catch (const Error& error) {
      return fmt::format("<{}>", error.what());
    }
  }

private:
  std::string name(Address item) {
    const AsyncKind kind = kinds_.kind(item);
    if (kind == AsyncKind::box)
      if (const MachineShape* const machine = names_.machine_in(kinds_, item))
        return names_.method_of(*machine)->shown_name();
    if (kind == AsyncKind::task)
      if (const Address action = kinds_.action(item)) return kinds_.callback(action);
    const TypeLineage& lineage = kinds_.lineage(item);
    if (lineage.is("System.Threading.TimerQueue")) return "timers that are due";
    if (!lineage.names.empty() &&
        lineage.names.front().find("QueueUserWorkItemCallback") != std::string::npos)
      if (const Address callback = kinds_.reference(item, "_callback")) return kinds_.callback(callback);
    return kinds_.objects().layouts().of(lineage.method_table).text;
  }

  TypeLineages lineages_;
  AsyncObjects kinds_;
  AsyncNames names_;
};

} // namespace

bool PoolReport::starved() const {
  if (state.items.empty() || !state.processing || !state.existing || !state.goal) return false;
  return *state.processing >= *state.existing && *state.processing >= *state.goal;
}

std::optional<PoolReport> report_pool(Runtime& runtime) {
  require_runtime(runtime);
  auto state = read_thread_pool(*runtime.objects());
  if (!state) return std::nullopt;
  PoolReport report{.state = std::move(*state)};
  ItemNames names(runtime);
  std::map<std::pair<PoolQueue, std::string>, std::size_t> counts;
  for (const PoolItem& item : report.state.items) ++counts[{item.queue, names.of(item.object)}];
  for (const auto& [key, count] : counts) report.groups.push_back({key.first, key.second, count});
  std::ranges::stable_sort(report.groups, std::ranges::greater{}, &PoolGroup::count);
  return report;
}

TimerReport report_timers(Runtime& runtime) {
  require_runtime(runtime);
  Timers timers = read_timers(*runtime.objects());
  TimerReport report{.problems = std::move(timers.problems)};
  TypeLineages lineages(runtime.names()->types());
  AsyncObjects kinds(*runtime.objects(), lineages);
  for (TimerState& timer : timers.timers) {
    TimerRow row;
    row.callback = kinds.callback(timer.callback);
    row.left_ms = static_cast<std::int64_t>(timer.set_at + timer.due_ms - timers.reached.value_or(0));
    row.timer = std::move(timer);
    report.rows.push_back(std::move(row));
  }
  return report;
}

} // namespace clr
