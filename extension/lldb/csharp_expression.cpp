#include "extension/lldb/csharp_expression.h"

#include "extension/lldb/compared_text.h"
#include "extension/lldb/csharp_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// --- Paths

struct Part {
  std::string before, spelled; // ".", "Items"; "", "[0]"
};

// A path from `at` on, which is moved behind it.
std::vector<Part> path_at(const CsharpTokens& tokens, std::size_t& at) {
  std::vector<Part> parts{{"", tokens[at++].spelled}};
  while (at < tokens.size()) {
    if (tokens[at].is("[")) {
      const std::size_t end = end_of_group(tokens, at);
      parts.push_back({"", text_of(tokens, at, end)});
      at = end;
    } else if (joins(tokens[at]) && at + 1 < tokens.size() && tokens[at + 1].is_name()) {
      parts.push_back({tokens[at].spelled, tokens[at + 1].spelled});
      at += 2;
    } else {
      break;
    }
  }
  return parts;
}

std::string joined(std::span<const Part> parts) {
  std::string text;
  for (const Part& part : parts) text += part.before + part.spelled;
  return text;
}

// The fields behind a property, of which LLDB knows nothing.
std::optional<std::string> behind_property(std::string_view type, std::string_view property,
                                           std::string_view object) {
  const auto any = [&](std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view begin) { return type.starts_with(begin); });
  };
  if (property == "Length" && type == "System.String") return fmt::format("{}._stringLength", object);
  if (property == "Count") {
    if (any({"System.Collections.Generic.List<", "System.Collections.Generic.Stack<",
             "System.Collections.Generic.Queue<"}))
      return fmt::format("{}._size", object);
    if (any({"System.Collections.Generic.Dictionary<", "System.Collections.Generic.HashSet<"}))
      return fmt::format("({0}._count - {0}._freeCount)", object);
  }
  if (any({"System.Nullable<"})) {
    if (property == "HasValue") return fmt::format("{}.hasValue", object);
    if (property == "Value") return fmt::format("{}.value", object);
  }
  return std::nullopt;
}

class Meaning {
public:
  explicit Meaning(const CsharpScope& scope) : scope_(&scope) {}

  // Each path as one token, as LLDB understands it.
  CsharpTokens paths(const CsharpTokens& tokens) const;
  // Comparisons with null and with texts.
  void comparisons(CsharpTokens& tokens) const;

private:
  bool has_meaning(const std::string& expression) const { return !scope_->type_of(expression).empty(); }
  std::string path(const std::vector<Part>& parts) const;
  std::optional<std::string> member_of_enum(const std::vector<Part>& parts) const;
  std::optional<std::string> compared(const std::string& object, const CsharpToken& constant,
                                      bool equal) const;

  const CsharpScope* scope_;
};

std::string Meaning::path(const std::vector<Part>& parts) const {
  std::string plain = joined(parts);
  if (has_meaning(plain)) return plain;
  std::string object = parts.front().spelled;
  for (const Part& part : std::span(parts).subspan(1)) {
    if (part.before != ".") {
      object += part.before + part.spelled;
      continue;
    }
    const auto field = behind_property(scope_->type_of(object), part.spelled, object);
    object = field ? *field : object + (object == "this" ? "->" : ".") + part.spelled;
  }
  if (has_meaning(object)) return object;
  return member_of_enum(parts).value_or(std::move(plain));
}

std::optional<std::string> Meaning::member_of_enum(const std::vector<Part>& parts) const {
  std::vector<std::string> spelled_parts;
  for (const Part& part : parts) {
    if (part.before != "." && !spelled_parts.empty()) return std::nullopt;
    spelled_parts.push_back(part.spelled);
  }
  if (spelled_parts.size() < 2) return std::nullopt;
  const std::string name = fmt::format("{}", fmt::join(spelled_parts, "::"));
  for (std::size_t count = scope_->names.size() + 1; count-- > 0;) {
    const std::span<const std::string> outer = std::span(scope_->names).first(count);
    std::string spelled = fmt::format("{}{}{}", fmt::join(outer, "::"), count == 0 ? "" : "::", name);
    if (has_meaning(spelled)) return spelled;
  }
  return std::nullopt;
}

CsharpTokens Meaning::paths(const CsharpTokens& tokens) const {
  static constexpr std::array<std::string_view, 7> words{"null", "is", "not", "true", "false", "and", "or"};
  CsharpTokens made;
  for (std::size_t at = 0; at < tokens.size();) {
    const bool begins = tokens[at].is_name() && std::ranges::find(words, tokens[at].spelled) == words.end() &&
                        (at == 0 || !joins(tokens[at - 1]));
    if (begins)
      made.push_back({CsharpToken::Kind::name, path(path_at(tokens, at))});
    else
      made.push_back(tokens[at++]);
  }
  return made;
}

std::optional<std::string> Meaning::compared(const std::string& object, const CsharpToken& constant,
                                             bool equal) const {
  const std::string type = scope_->type_of(object);
  if (type.empty()) return std::nullopt;
  if (constant.kind == CsharpToken::Kind::text) {
    const auto same = type == "System.String" ? compared_with_text(object, constant.spelled) : std::nullopt;
    if (!same) return std::nullopt;
    return equal ? fmt::format("({})", *same) : fmt::format("(!({}))", *same);
  }
  if (type.starts_with("System.Nullable<")) return fmt::format("({}({}).hasValue)", equal ? "!" : "", object);
  const char* const sign = equal ? "==" : "!=";
  if (type.ends_with('*')) return fmt::format("(({}) {} 0)", object, sign);
  return fmt::format("((unsigned long)&({}) {} 0)", object, sign);
}

bool is_constant(const CsharpToken& token) {
  return token.kind == CsharpToken::Kind::text || token.is("null");
}

// Where the operand begins that ends before `end`: a path, a group, a cast before these; `end`: there is
// none.
std::size_t begin_of_operand(const CsharpTokens& tokens, std::size_t end) {
  std::size_t at = end;
  while (at > 0) {
    if (tokens[at - 1].is(")") || tokens[at - 1].is("]")) {
      const std::string_view close = tokens[at - 1].spelled, open = close == ")" ? "(" : "[";
      std::size_t depth = 0, begin = at;
      while (begin-- > 0) {
        if (tokens[begin].is(close)) ++depth;
        if (tokens[begin].is(open) && --depth == 0) break;
      }
      if (begin > at) return end;
      at = begin;
    } else if (tokens[at - 1].is_name()) {
      --at;
    } else {
      return at;
    }
    if (at > 0 && joins(tokens[at - 1]))
      --at;
    else if (at == 0 || !tokens[at - 1].is(")"))
      return at;
  }
  return at;
}

// Behind the operand that begins at `begin`.
std::size_t end_of_operand(const CsharpTokens& tokens, std::size_t begin) {
  std::size_t at = begin;
  while (at < tokens.size()) {
    if (tokens[at].is("("))
      at = end_of_group(tokens, at);
    else if (tokens[at].is_name() || joins(tokens[at]))
      ++at;
    else
      break;
  }
  return at;
}

void Meaning::comparisons(CsharpTokens& tokens) const {
  const auto replace = [&](std::size_t begin, std::size_t end, std::string text) {
    tokens[begin] = {CsharpToken::Kind::number, std::move(text)};
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                 tokens.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t at = 1; at + 1 < tokens.size(); ++at) {
    const bool is = tokens[at].is("is");
    if (!is && !tokens[at].is("==") && !tokens[at].is("!=")) continue;
    const bool negated = is && tokens[at + 1].is("not");
    const std::size_t right = at + (negated ? 2 : 1);
    const bool equal = !negated && !tokens[at].is("!=");
    if (right < tokens.size() && is_constant(tokens[right])) {
      const std::size_t begin = begin_of_operand(tokens, at);
      if (begin == at) continue;
      if (auto text = compared(text_of(tokens, begin, at), tokens[right], equal)) {
        replace(begin, right + 1, std::move(*text));
        at = begin;
      }
    } else if (!is && is_constant(tokens[at - 1])) {
      const std::size_t end = end_of_operand(tokens, right);
      if (end == right) continue;
      if (auto text = compared(text_of(tokens, right, end), tokens[at - 1], equal)) {
        replace(at - 1, end, std::move(*text));
        --at;
      }
    }
  }
}
} // namespace

std::optional<std::string> csharp_expression(std::string_view text, const CsharpScope& scope) {
  const CsharpTokens tokens = csharp_tokens(text);
  if (tokens.empty()) return std::nullopt;
  const Meaning meaning(scope);
  CsharpTokens made = meaning.paths(tokens);
  meaning.comparisons(made);
  std::string found = text_of(made);
  const auto squeezed = [](std::string spelled) {
    std::erase(spelled, ' ');
    return spelled;
  };
  return squeezed(found) == squeezed(text_of(tokens)) ? std::nullopt : std::optional(std::move(found));
}

bool only_reads(std::string_view text) {
  static constexpr std::array<std::string_view, 11> writers{
      "=", "++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^="};
  const CsharpTokens tokens = csharp_tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool call = tokens[i].is("(") && i > 0 && tokens[i - 1].is_name();
    if (call || (tokens[i].kind == CsharpToken::Kind::sign &&
                 std::ranges::find(writers, tokens[i].spelled) != writers.end()))
      return false;
  }
  return !tokens.empty() && text.find("<<=") == std::string_view::npos &&
         text.find(">>=") == std::string_view::npos;
}

bool is_surely_csharp(std::string_view text) {
  const CsharpTokens tokens = csharp_tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_constant(tokens[i])) continue;
    const auto compares = [&](std::size_t at) {
      return at < tokens.size() &&
             (tokens[at].is("==") || tokens[at].is("!=") || tokens[at].is("is") || tokens[at].is("not"));
    };
    if (compares(i + 1) || (i > 0 && compares(i - 1))) return true;
  }
  return false;
}

std::vector<std::string> scope_of_function(std::string_view function) {
  std::vector<std::string> scope(1);
  int depth = 0;
  for (const char c : function.substr(0, function.find('('))) {
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c == '.' && depth == 0)
      scope.emplace_back();
    else
      scope.back() += c;
  }
  scope.pop_back(); // the function's own
  return scope;
}

} // namespace clr::lldb_plugin
