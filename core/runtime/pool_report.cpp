#include "core/runtime/pool_report.h"

#include "core/runtime/async_names.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace clr {
namespace {

// What delegates call. There may be millions of them, and of one many that use it.
class DelegateNames {
public:
  // `kinds` must outlive this.
  explicit DelegateNames(AsyncObjects& kinds) : kinds_(&kinds) {}

  // Never throws.
  SharedText of(Address delegate) {
    const auto [kept, added] = names_.try_emplace(delegate);
    if (added) {
      const SharedText text = kinds_->callback(delegate);
      kept->second = texts_.try_emplace(text.str(), text).first->second;
    }
    return kept->second;
  }

private:
  AsyncObjects* kinds_;
  std::unordered_map<Address, SharedText> names_;
  std::unordered_map<std::string_view, SharedText> texts_; // each once, by itself
};

class ItemNames {
public:
  explicit ItemNames(Runtime& runtime)
      : lineages_(runtime.names()->types()), kinds_(*runtime.objects(), lineages_), names_(runtime) {}

  // Throws Error.
  SharedText of(Address item) {
    const AsyncKind kind = kinds_.kind(item);
    if (kind == AsyncKind::box)
      if (const MachineShape* const machine = names_.machine_in(kinds_, item)) {
        SharedText& kept = of_machine_[machine];
        if (kept.empty()) kept = names_.method_of(*machine)->shown_name();
        return kept;
      }
    if (kind == AsyncKind::task)
      if (const Address action = kinds_.action(item)) return of_delegate(action);
    const TypeLineage& lineage = kinds_.lineage(item);
    if (lineage.is("System.Threading.TimerQueue")) return "timers that are due";
    if (lineage.name.str().find("QueueUserWorkItemCallback") != std::string::npos)
      if (const Address callback = kinds_.reference(item, "_callback")) return of_delegate(callback);
    SharedText& kept = of_type_[lineage.method_table];
    if (kept.empty()) kept = kinds_.objects().layouts().of(lineage.method_table).text;
    return kept;
  }

private:
  SharedText of_delegate(Address delegate) {
    const SharedText text = delegates_.of(delegate);
    // No method is called so: it is the reason why this is no delegate.
    if (text.str().size() > 1 && text.str().starts_with('<') && text.str().ends_with('>'))
      throw Error(ErrorKind::corrupt, text.str().substr(1, text.str().size() - 2));
    return text;
  }

  TypeLineages lineages_;
  AsyncObjects kinds_;
  AsyncNames names_;
  DelegateNames delegates_{kinds_};
  // By what tells the name alone: there may be millions of items.
  std::unordered_map<const MachineShape*, SharedText> of_machine_;
  std::unordered_map<Address, SharedText> of_type_;
};

} // namespace

bool PoolReport::starved() const {
  if (state.items.empty() || !state.processing || !state.existing || !state.goal) return false;
  return *state.processing >= *state.existing && *state.processing >= *state.goal;
}

std::vector<PoolGroup> group_items(std::span<const PoolItem> items,
                                   const std::function<SharedText(Address)>& name_of) {
  std::vector<PoolItem> sorted(items.begin(), items.end());
  std::ranges::sort(sorted, {}, &PoolItem::object);
  struct Group {
    SharedText text;
    std::map<PoolQueue, std::size_t> counts;
  };
  std::unordered_map<const std::string*, Group> groups; // by the place of their text: most share theirs
  const SharedText not_asked("<not looked at: too many other items cannot be read>");
  SharedText text;
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].object != sorted[i - 1].object) {
      try {
        text = unnamed < max_unnamed_items ? name_of(sorted[i].object) : not_asked;
      } catch (const Error& error) {
        ++unnamed;
        text = fmt::format("<{}>", error.what());
      }
    }
    Group& group = groups[&text.str()];
    group.text = text;
    ++group.counts[sorted[i].queue];
  }
  std::map<std::pair<PoolQueue, std::string_view>, PoolGroup> merged; // texts may be equal, too
  for (const auto& [place, group] : groups)
    for (const auto& [queue, count] : group.counts)
      merged.try_emplace({queue, group.text}, PoolGroup{queue, group.text, 0}).first->second.count += count;
  std::vector<PoolGroup> all;
  for (auto& [key, group] : merged) all.push_back(std::move(group));
  std::ranges::stable_sort(all, std::ranges::greater{}, &PoolGroup::count);
  return all;
}

std::optional<PoolReport> report_pool(Runtime& runtime) {
  require_runtime(runtime);
  auto state = read_thread_pool(*runtime.objects());
  if (!state) return std::nullopt;
  PoolReport report{.state = std::move(*state)};
  ItemNames names(runtime);
  report.groups = group_items(report.state.items, [&](Address item) { return names.of(item); });
  return report;
}

TimerReport report_timers(Runtime& runtime) {
  require_runtime(runtime);
  Timers timers = read_timers(*runtime.objects());
  TimerReport report{.problems = std::move(timers.problems)};
  TypeLineages lineages(runtime.names()->types());
  AsyncObjects kinds(*runtime.objects(), lineages);
  DelegateNames delegates(kinds);
  for (TimerState& timer : timers.timers) {
    TimerRow row;
    row.callback = delegates.of(timer.callback);
    row.left_ms = static_cast<std::int64_t>(timer.set_at + timer.due_ms - timers.reached.value_or(0));
    row.timer = std::move(timer);
    report.rows.push_back(std::move(row));
  }
  return report;
}

} // namespace clr
