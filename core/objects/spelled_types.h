// Types as the expressions of a debugger spell them: Shop::Circle, Shop::Cache_int_, and Shop.Cache.Hits for
// a static field.
#pragma once

#include "core/objects/object_reader.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// A name of at least two parts in an expression.
struct SpelledName {
  std::vector<std::string> parts; // "Shop", "Circle"
  bool colons = false;            // with "::", which a type or one of its static fields has; else with dots
  friend bool operator==(const SpelledName&, const SpelledName&) = default;
};

// Those in the text of an expression, each once; what follows another value (`(x).y.z`, `p->y.z`) is a member
// and no name. No more than max_spelled_names.
std::vector<SpelledName> spelled_names(std::string_view expression);
constexpr std::size_t max_spelled_names = 64;
constexpr std::size_t max_spelled_parts = 32;

// `text` with an underscore for what no identifier has, but for dots: "Shop.Cache_int_".
std::string spelled_type(std::string_view text);

// The loaded types whose names are spelled as one of `names`, each of which is the parts with dots between
// them. What several modules have is left out: nothing tells which one is meant. Cost: as search_types.
std::map<std::string, Address> find_spelled(ObjectReader& objects, std::span<const std::string> names);

} // namespace clr
