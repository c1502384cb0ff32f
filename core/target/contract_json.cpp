#include "core/target/contract_descriptor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <set>

namespace clr {
namespace {

using nlohmann::json;

// Structures of the runtime are small; a larger offset is wrong.
constexpr std::int64_t max_field_offset = 64 * 1024;
// The same limit for a whole type.
constexpr std::uint64_t max_type_size = 1024 * 1024;
// The format itself needs only five levels: root, globals, value, indirect value.
constexpr int max_json_depth = 64;

[[noreturn]] void bad(const std::string& what) {
  throw Error(ErrorKind::corrupt, "contract descriptor JSON: " + what);
}

// Blanks trailing commas. The reference parser skips comments and allows trailing commas, but nlohmann only
// skips comments. A comma is blanked when it follows a value and only white space and comments come between
// it and a closing bracket.
std::string without_trailing_commas(std::string_view text) {
  std::string out(text);
  std::size_t comma = std::string::npos;
  bool after_value = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (c == '"') {
      for (++i; i < out.size() && out[i] != '"'; ++i)
        if (out[i] == '\\') ++i;
      comma = std::string::npos;
      after_value = true;
    } else if (c == '/' && i + 1 < out.size() && out[i + 1] == '/') {
      while (i < out.size() && out[i] != '\n') ++i;
    } else if (c == '/' && i + 1 < out.size() && out[i + 1] == '*') {
      const std::size_t end = out.find("*/", i + 2);
      i = end == std::string::npos ? out.size() : end + 1;
    } else if (c == ',') {
      comma = after_value ? i : std::string::npos;
      after_value = false;
    } else if (c == '}' || c == ']') {
      if (comma != std::string::npos) out[comma] = ' ';
      comma = std::string::npos;
      after_value = true;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      comma = std::string::npos;
      after_value = c != '{' && c != '[' && c != ':';
    }
  }
  return out;
}

// What the format forbids and JSON allows. It looks at the text alone: the library's own callback for a
// parser looks through a whole list, or all members, each time an object within ends.
class FormatCheck final : public nlohmann::json_sax<json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return begin();
  }
  bool key(string_t& name) override {
    // A repeated key is an error in this format; in JSON itself the last one would win.
    if (!keys_.back().insert(name).second) duplicate = name;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return end();
  }
  bool start_array(std::size_t) override { return begin(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false; // the parser itself says why
  }

  std::string duplicate;

private:
  bool begin() {
    if (++depth_ > max_json_depth) bad(fmt::format("nested more than {} deep", max_json_depth));
    return true;
  }
  bool end() {
    --depth_;
    return true;
  }

  std::vector<std::set<std::string>> keys_; // of the objects around this place
  int depth_ = 0;
};

json parse(std::string_view text) {
  const std::string plain = without_trailing_commas(text);
  FormatCheck check;
  json root;
  try {
    json::sax_parse(plain, &check, json::input_format_t::json, true, true);
    root = json::parse(plain, nullptr, true, true);
  } catch (const json::exception& error) {
    // The library's text begins with its own error number, which is removed.
    const std::string_view said = error.what();
    const std::size_t number = said.starts_with('[') ? said.find("] ") : std::string_view::npos;
    bad(std::string(number == std::string_view::npos ? said : said.substr(number + 2)));
  }
  if (!check.duplicate.empty()) bad(fmt::format("\"{}\" is given twice", check.duplicate));
  if (!root.is_object()) bad("the root is no object");
  return root;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Decimal, signed decimal, 0x hex, -0x hex; negative numbers in two's complement.
std::optional<std::uint64_t> numeric_text(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = negative ? text.substr(1) : text;
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  const auto magnitude = parse_unsigned(digits, hex ? 16 : 10);
  if (!magnitude) return std::nullopt;
  constexpr std::uint64_t largest_negative = std::uint64_t{1} << 63;
  if (negative && !hex && *magnitude > largest_negative) return std::nullopt;
  return negative ? 0 - *magnitude : *magnitude;
}

std::optional<std::uint64_t> numeric(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return static_cast<std::uint64_t>(value.get<std::int64_t>());
  if (value.is_string()) return numeric_text(value.get_ref<const std::string&>());
  return std::nullopt;
}

// [V] and [[V], type] are indirect; V and [V, type] are direct.
GlobalDescriptor parse_global(const std::string& name, const json& value) {
  GlobalDescriptor global;
  const json* number = &value;
  if (value.is_array() && value.size() == 2) {
    if (!value[1].is_string()) bad(fmt::format("the type of global {} is no string", name));
    global.type = value[1].get<std::string>();
    number = &value[0];
  }
  if (number->is_array() && number->size() == 1) {
    global.indirect = true;
    number = &(*number)[0];
  }
  global.number = numeric(*number);
  if (number->is_string()) global.text = number->get<std::string>();
  if (!global.number && (!global.text || global.indirect))
    bad(fmt::format("global {} has no usable value", name));
  return global;
}

FieldDescriptor parse_field(const std::string& type, const std::string& name, const json& value) {
  FieldDescriptor field;
  const json* offset = &value;
  if (value.is_array()) {
    if (value.size() != 2 || !value[1].is_string()) bad(fmt::format("field {}.{} is malformed", type, name));
    field.type = value[1].get<std::string>();
    offset = &value[0];
  }
  const auto number = numeric(*offset);
  if (!number) bad(fmt::format("field {}.{} has no offset", type, name));
  field.offset = static_cast<std::int64_t>(*number);
  const bool negative = offset->is_string() ? offset->get_ref<const std::string&>().starts_with('-')
                                            : offset->is_number_integer() && !offset->is_number_unsigned();
  if (field.offset < 0 && !negative) bad(fmt::format("field {}.{} has offset {}", type, name, *number));
  if (field.offset > max_field_offset || field.offset < -max_field_offset)
    bad(fmt::format("field {}.{} has offset {}", type, name, field.offset));
  return field;
}

TypeDescriptor parse_type(const std::string& name, const json& value) {
  if (!value.is_object()) bad(fmt::format("type {} is no object", name));
  TypeDescriptor type;
  for (const auto& [key, field] : value.items()) {
    if (key != "!") {
      type.fields.emplace(key, parse_field(name, key, field));
      continue;
    }
    if (!field.is_number_unsigned() || field.get<std::uint64_t>() > max_type_size)
      bad(fmt::format("type {} has no usable size", name));
    type.size = field.get<std::uint32_t>();
  }
  return type;
}

std::string parse_contract_version(const std::string& name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  bad(fmt::format("contract {} has no version", name));
}

// Calls `add` for each member of the object at `key`, if there is one.
template<typename Add>
void each_member(const json& root, const char* key, const Add& add) {
  const auto found = root.find(key);
  if (found == root.end()) return;
  if (!found->is_object()) bad(fmt::format("\"{}\" is no object", key));
  for (const auto& [name, value] : found->items()) add(name, value);
}

} // namespace

ContractDescriptor parse_contract_json(std::string_view text) {
  const json root = parse(text);
  ContractDescriptor descriptor;
  if (const auto version = root.find("version"); version != root.end()) {
    const auto number = numeric(*version);
    if (!number || *number > 0xffff'ffffu) bad("\"version\" is no number");
    descriptor.version = static_cast<unsigned>(*number);
  }
  if (const auto baseline = root.find("baseline"); baseline != root.end()) {
    if (!baseline->is_string()) bad("\"baseline\" is no string");
    descriptor.baseline = baseline->get<std::string>();
    // No other baseline was ever published.
    if (!descriptor.baseline.empty() && descriptor.baseline != "empty")
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("contract descriptor with baseline \"{}\"", descriptor.baseline));
  }
  each_member(root, "types", [&](const std::string& name, const json& value) {
    descriptor.types.emplace(name, parse_type(name, value));
  });
  each_member(root, "globals", [&](const std::string& name, const json& value) {
    descriptor.globals.emplace(name, parse_global(name, value));
  });
  each_member(root, "subDescriptors", [&](const std::string& name, const json& value) {
    GlobalDescriptor slot = parse_global(name, value);
    if (slot.indirect) descriptor.sub_descriptors.emplace(name, std::move(slot));
  });
  each_member(root, "contracts", [&](const std::string& name, const json& value) {
    descriptor.contracts.emplace(name, parse_contract_version(name, value));
  });
  return descriptor;
}

} // namespace clr
