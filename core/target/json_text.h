// JSON that somebody else wrote, as a tree: a text of some megabytes may ask for a hundred times as many
// bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string_view>

namespace clr {

// The tree of `text`; a discarded value when it is no JSON. Throws Error{corrupt} when it is nested deeper
// than max_json_nesting, has more than `max_values` values, those within others included, or an object of
// more than max_json_members members.
nlohmann::ordered_json parse_json(std::string_view text, std::size_t max_values);

constexpr int max_json_nesting = 64;
// Each member is compared with all before it, since they keep their order.
constexpr std::size_t max_json_members = 1024;

} // namespace clr
