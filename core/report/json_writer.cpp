#include "core/report/json_writer.h"

#include "core/report/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace clr {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void append_number(std::string& out, std::uint64_t value, int base) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

} // namespace

void append_json_text(std::string& out, std::string_view value) {
  if (std::ranges::all_of(value, is_plain)) {
    out += value;
    return;
  }
  const std::string quoted = dump(Json(value));
  out.append(quoted, 1, quoted.size() - 2);
}

void JsonWriter::text(std::string_view value) {
  separate();
  *out_ += '"';
  append_json_text(*out_, value);
  *out_ += '"';
}

void JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(*out_, value, 10);
}

void JsonWriter::hex(std::uint64_t value) {
  separate();
  *out_ += "\"0x";
  append_number(*out_, value, 16);
  *out_ += '"';
}

void JsonWriter::key(std::string_view name) {
  separate();
  *out_ += '"';
  *out_ += name;
  *out_ += "\":";
  comma_ = false;
}

} // namespace clr
