#include "core/report/pool_json.h"

#include <nlohmann/json.hpp>

namespace clr {
namespace {

template<typename Number>
Json known(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

} // namespace

Json to_json(const PoolReport& report) {
  const ThreadPoolState& state = report.state;
  Json json{{"workers",
             {{"processing", known(state.processing)},
              {"existing", known(state.existing)},
              {"goal", known(state.goal)},
              {"minimum", known(state.minimum)},
              {"maximum", known(state.maximum)},
              {"blocked", known(state.blocked)}}},
            {"starved", report.starved()},
            {"items", state.items.size()},
            {"complete", !state.left_out && state.problems.empty()},
            {"queued", Json::array()},
            {"problems", state.problems}};
  for (const PoolGroup& group : report.groups)
    json["queued"].push_back(
        {{"queue", to_string(group.queue)}, {"method", group.method.str()}, {"count", group.count}});
  return json;
}

Json to_json(const TimerRow& row) {
  Json json{{"object", hex(row.timer.object)},
            {"due_ms", row.timer.due_ms},
            {"left_ms", row.left_ms},
            {"period_ms", known(row.timer.period_ms)},
            {"callback", row.callback.str()}};
  if (row.timer.state != 0) {
    json["state"] = hex(row.timer.state);
    json["state_type"] = row.timer.state_type.str();
  }
  return json;
}

} // namespace clr
