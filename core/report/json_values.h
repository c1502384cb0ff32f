// Values that may be unknown, as JSON.
#pragma once

#include "core/report/json.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace clr {

// null: not known.
template<typename Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

} // namespace clr
