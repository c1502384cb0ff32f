#include "extension/lldb/csharp_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace clr::lldb_plugin {

namespace {
bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}

bool in_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Behind the closing quote; npos: there is none.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == quote)
      return at + 1;
  }
  return std::string_view::npos;
}

} // namespace

CsharpTokens csharp_tokens(std::string_view text) {
  static constexpr std::array<std::string_view, 18> signs{
      "==", "!=", "<=", ">=", "&&", "||", "->", "::", "++",
      "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^="};
  CsharpTokens tokens;
  for (std::size_t at = 0; at < text.size() && tokens.size() <= max_expression_tokens;) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    CsharpToken::Kind kind = CsharpToken::Kind::sign;
    if (c == '"' || c == '\'') {
      end = end_of_quoted(text, at);
      if (end == std::string_view::npos) return {};
      kind = c == '"' ? CsharpToken::Kind::text : CsharpToken::Kind::number; // a character is a number here
    } else if (starts_name(c)) {
      while (end < text.size() && in_name(text[end])) ++end;
      kind = CsharpToken::Kind::name;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (end < text.size() && (in_name(text[end]) || text[end] == '.')) ++end;
      kind = CsharpToken::Kind::number;
    } else if (std::ranges::find(signs, text.substr(at, 2)) != signs.end()) {
      end = at + 2;
    }
    tokens.push_back({kind, std::string(text.substr(at, end - at))});
    at = end;
  }
  if (tokens.size() > max_expression_tokens) tokens.clear();
  return tokens;
}

std::string text_of(const CsharpTokens& tokens, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += (text.empty() ? "" : " ") + tokens[i].spelled;
  return text;
}

std::string text_of(const CsharpTokens& tokens) {
  return text_of(tokens, 0, tokens.size());
}

bool joins(const CsharpToken& token) {
  return token.is(".") || token.is("->") || token.is("::");
}

std::size_t end_of_group(const CsharpTokens& tokens, std::size_t open) {
  const std::string_view begin = tokens[open].spelled, end = begin == "(" ? ")" : "]";
  std::size_t depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].is(begin)) ++depth;
    if (tokens[i].is(end) && --depth == 0) return i + 1;
  }
  return tokens.size();
}

} // namespace clr::lldb_plugin
