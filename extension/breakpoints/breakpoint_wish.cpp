#include "extension/breakpoints/breakpoint_wish.h"

#include "core/memory/path_map.h"
#include "core/memory/utf8.h"
#include "core/types/last_name.h"
#include "core/types/user_method.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace clr {

namespace {
std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// An option of a command with its value: "-n", "--name".
struct Option {
  std::string_view letter, word;
};
constexpr Option name_options[] = {
    {"-n", "--name"}, {"-b", "--basename"}, {"-F", "--fullname"}, {"-M", "--method"}};
constexpr Option pattern_options[] = {{"-r", "--func-regex"}, {"-p", "--source-pattern-regexp"}};

// In the text as it is, or as it is shown.
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos ||
         (!is_printable(text) && printable(text).find(part) != std::string::npos);
}
} // namespace

BreakpointWish wish_of_serialized(std::string_view json) {
  BreakpointWish wish;
  try {
    const nlohmann::json resolver = nlohmann::json::parse(json).at("Breakpoint").at("BKPTResolver");
    const nlohmann::json& options = resolver.at("Options");
    const std::string type = resolver.at("Type");
    if (type == "FileAndLine") {
      wish.file = options.at("FileName");
      wish.line = options.at("LineNumber");
      wish.kind = BreakpointWish::Kind::line;
    } else if (options.contains("Regex")) { // of names or of source text
      wish.names.push_back(options.at("Regex"));
      wish.kind = BreakpointWish::Kind::pattern;
    } else if (type == "SymbolName") {
      // LLDB (23) has a name once for each kind of name that it may be.
      for (std::string name : options.at("SymbolNames"))
        if (std::ranges::find(wish.names, name) == wish.names.end()) wish.names.push_back(std::move(name));
      if (!wish.names.empty()) wish.kind = BreakpointWish::Kind::name;
    } else if (type == "Address") {
      wish.kind = BreakpointWish::Kind::address;
    }
  } catch (const nlohmann::json::exception&) {
    return {};
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
    // LLDB knows files by the names that are shown.
    return std::ranges::any_of(files, [&](const std::string& file) {
      return file_name_of(printable(file)) == file_name_of(wish.file);
    });
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
