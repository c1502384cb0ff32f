#include "core/target/json_text.h"

#include "core/memory/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace clr {

namespace {

using Json = nlohmann::ordered_json;

// Counts what the text has, and makes nothing of it. The library's own callback for a parser looks through a
// whole list each time one of its objects ends.
class Bounds final : public nlohmann::json_sax<Json> {
public:
  explicit Bounds(std::size_t max_values) : max_values_(max_values) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override {
    members_.push_back(0);
    return begin();
  }
  bool key(string_t&) override {
    if (++members_.back() > max_json_members)
      throw Error(ErrorKind::corrupt,
                  fmt::format("JSON with an object of more than {} members", max_json_members));
    return true;
  }
  bool end_object() override {
    members_.pop_back();
    return end();
  }
  bool start_array(std::size_t) override { return begin(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

private:
  bool value() {
    if (++values_ > max_values_)
      throw Error(ErrorKind::corrupt, fmt::format("JSON of more than {} values", max_values_));
    return true;
  }
  bool begin() {
    if (++depth_ > max_json_nesting)
      throw Error(ErrorKind::corrupt, fmt::format("JSON that is nested more than {} deep", max_json_nesting));
    return value();
  }
  bool end() {
    --depth_;
    return true;
  }

  std::size_t max_values_, values_ = 0;
  std::vector<std::size_t> members_; // of the objects around this place, so far
  int depth_ = 0;
};

} // namespace

Json parse_json(std::string_view text, std::size_t max_values) {
  Bounds bounds(max_values);
  if (!Json::sax_parse(text, &bounds)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

} // namespace clr
