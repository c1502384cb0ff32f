#include "extension/breakpoints/breakpoint_wish.h"

#include "core/memory/path_map.h"
#include "core/types/last_name.h"
#include "core/types/user_method.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace clr {

namespace {
// The text between the first quotes at or behind `from`, and where it ends.
std::optional<std::string_view> quoted(std::string_view text, std::size_t from, std::size_t& end) {
  const std::size_t open = text.find('\'', from);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = text.find('\'', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  end = close + 1;
  return text.substr(open + 1, close - open - 1);
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Where the value of "KEY = " begins; nothing when the text does not have it.
std::optional<std::size_t> value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == ',';
    if (begins && text.substr(at + key.size()).starts_with(" = ")) return at + key.size() + 3;
  }
  return std::nullopt;
}

// An option of a command with its value: "-n", "--name".
struct Option {
  std::string_view letter, word;
};
constexpr Option name_options[] = {
    {"-n", "--name"}, {"-b", "--basename"}, {"-F", "--fullname"}, {"-M", "--method"}};
constexpr Option pattern_options[] = {{"-r", "--func-regex"}, {"-p", "--source-pattern-regexp"}};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
} // namespace

BreakpointWish wish_of_description(std::string_view text) {
  BreakpointWish wish;
  std::size_t end = 0;
  if (const auto file = value_of(text, "file")) {
    const auto name = quoted(text, *file, end);
    const auto line = value_of(text, "line");
    if (!name || !line) return wish;
    wish.kind = BreakpointWish::Kind::line;
    wish.file = *name;
    wish.line = number(text.substr(*line));
  } else if (value_of(text, "regex") || value_of(text, "source regex")) {
    wish.kind = BreakpointWish::Kind::pattern;
  } else if (const auto names = value_of(text, "names")) {
    const std::size_t close = text.find('}', *names);
    for (std::size_t at = *names; at < close;) {
      const auto name = quoted(text, at, end);
      if (!name || end > close) break;
      wish.names.emplace_back(*name);
      at = end;
    }
    if (!wish.names.empty()) wish.kind = BreakpointWish::Kind::name;
  } else if (const auto name_at = value_of(text, "name")) {
    if (const auto name = quoted(text, *name_at, end)) {
      wish.kind = BreakpointWish::Kind::name;
      wish.names.emplace_back(*name);
    }
  } else if (value_of(text, "address")) {
    wish.kind = BreakpointWish::Kind::address;
  }
  return wish;
}

BreakpointWish wish_of_arguments(std::span<const std::string_view> words) {
  BreakpointWish wish;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view value;
    // "-n NAME", "-nNAME", "--name NAME", "--name=NAME".
    const auto is = [&](const Option& option) {
      const std::string_view word = words[i];
      if (word == option.letter || word == option.word) {
        value = i + 1 < words.size() ? words[i + 1] : std::string_view{};
        return true;
      }
      if (word.starts_with(option.word) && word.substr(option.word.size()).starts_with('=')) {
        value = word.substr(option.word.size() + 1);
        return true;
      }
      if (!word.starts_with("--") && word.starts_with(option.letter)) {
        value = word.substr(option.letter.size());
        return true;
      }
      return false;
    };
    if (std::ranges::any_of(name_options, is)) {
      wish.kind = BreakpointWish::Kind::name;
      wish.names.emplace_back(value);
    } else if (std::ranges::any_of(pattern_options, is)) {
      wish.kind = BreakpointWish::Kind::pattern;
      wish.names.emplace_back(value);
    } else if (is({"-f", "--file"})) {
      wish.file = value;
    } else if (is({"-l", "--line"})) {
      wish.kind = BreakpointWish::Kind::line;
      wish.line = number(value);
    } else if (is({"-y", "--joint-specifier"})) { // FILE:LINE[:COLUMN]
      const std::size_t colon = value.find(':');
      if (colon == std::string_view::npos) continue;
      wish.kind = BreakpointWish::Kind::line;
      wish.file = value.substr(0, colon);
      wish.line = number(value.substr(colon + 1));
    } else if (is({"-a", "--address"})) {
      wish.kind = BreakpointWish::Kind::address;
    }
  }
  return wish;
}

bool may_concern(const BreakpointWish& wish, const Method& method, std::span<const std::string> files) {
  switch (wish.kind) {
  case BreakpointWish::Kind::address:
    return false; // it is there or it is not; new code changes nothing
  case BreakpointWish::Kind::line:
    if (files.empty()) return false; // code without lines
    return std::ranges::any_of(
        files, [&](const std::string& file) { return file_name_of(file) == file_name_of(wish.file); });
  case BreakpointWish::Kind::name:
    return std::ranges::any_of(wish.names, [&](const std::string& name) {
      const std::string_view last = last_name(name);
      return contains(method.full_name, last) || contains(method.name, last) ||
             (method.user && contains(method.user->full_name, last));
    });
  case BreakpointWish::Kind::pattern:
  case BreakpointWish::Kind::unknown:
    return true;
  }
  return true;
}

} // namespace clr
