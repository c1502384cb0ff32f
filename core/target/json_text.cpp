#include "core/target/json_text.h"

#include "core/memory/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr {

nlohmann::ordered_json parse_json(std::string_view text, std::size_t max_values) {
  using Json = nlohmann::ordered_json;
  std::size_t values = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, const Json&) {
    if (depth > max_json_nesting)
      throw Error(ErrorKind::corrupt, fmt::format("JSON that is nested more than {} deep", max_json_nesting));
    const bool begins = event == Json::parse_event_t::object_start ||
                        event == Json::parse_event_t::array_start || event == Json::parse_event_t::value;
    if (begins && ++values > max_values)
      throw Error(ErrorKind::corrupt, fmt::format("JSON of more than {} values", max_values));
    return true;
  };
  return Json::parse(text, watch, false);
}

} // namespace clr
