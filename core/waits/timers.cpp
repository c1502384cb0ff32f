#include "core/waits/timers.h"

#include "core/objects/instance_reader.h"
#include "core/waits/core_library.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::uint32_t never = 0xffff'ffff;

class TimerReader {
public:
  explicit TimerReader(ObjectReader& objects) : reader_(objects) {}

  Timers read(Address queues) {
    const InstanceReader::Vector array = reader_.vector(queues);
    for (std::uint32_t i = 0; i < std::min(array.count, max_timer_queues); ++i)
      if (const Address queue = reader_.target().read_pointer(array.at(i)))
        for (const char* const list : {"_shortTimers", "_longTimers"}) add_list(queue, list);
    std::ranges::stable_sort(result_.timers, {}, [](const TimerState& t) { return t.set_at + t.due_ms; });
    return std::move(result_);
  }

private:
  void add_list(Address queue, std::string_view list) {
    try {
      for (Address at = reader_.reference(reader_.of_object(queue), list); at != 0;) {
        if (!seen_.insert(at).second) throw_corrupt(at, "a list of timers runs in circles");
        if (seen_.size() > max_timers) throw_corrupt(at, "too many timers");
        at = add(at);
      }
    } catch (const Error& error) {
      result_.problems.emplace_back(error.what());
    }
  }

  // Returns the next one.
  Address add(Address timer) {
    const Instance instance = reader_.of_object(timer);
    TimerState state{.object = timer,
                     .set_at = reader_.integer(instance, "_startTicks"),
                     .due_ms = reader_.integer(instance, "_dueTime") & never,
                     .callback = reader_.reference(instance, "_timerCallback"),
                     .state = reader_.reference(instance, "_state")};
    if (const auto period = reader_.integer(instance, "_period") & never; period != never && period != 0)
      state.period_ms = period;
    if (state.state != 0) state.state_type = text_of(reader_.of_object(state.state).layout);
    result_.reached = std::max(result_.reached.value_or(0), state.set_at);
    if (state.due_ms != never) result_.timers.push_back(std::move(state));
    return reader_.reference(instance, "_next");
  }

  // Millions of timers may have states of one type.
  const SharedText& text_of(const TypeLayout& layout) {
    SharedText& text = types_[layout.table.address];
    if (text.empty()) text = layout.text;
    return text;
  }

  InstanceReader reader_;
  Timers result_;
  std::unordered_map<Address, SharedText> types_; // by MethodTable
  std::unordered_set<Address> seen_;
};

} // namespace

Timers read_timers(ObjectReader& objects) {
  CoreLibrary library(objects);
  constexpr std::string_view type = "System.Threading.TimerQueue";
  if (const Address queues = library.static_reference(type, "<Instances>k__BackingField"))
    return read_timers(objects, queues);
  if (library.find(type) == 0) return {}; // no timer was ever made
  throw Error(ErrorKind::unsupported_contract, "System.Threading.TimerQueue has no list in this version");
}

Timers read_timers(ObjectReader& objects, Address queues) {
  return TimerReader(objects).read(queues);
}

} // namespace clr
