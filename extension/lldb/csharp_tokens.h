// The words and signs of an expression of C#.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

struct CsharpToken {
  enum class Kind { name, number, text, sign };
  Kind kind = Kind::sign;
  std::string spelled; // a text with its quotes
  bool is(std::string_view what) const { return kind != Kind::text && spelled == what; }
  bool is_name() const { return kind == Kind::name; }
};
using CsharpTokens = std::vector<CsharpToken>;

constexpr std::size_t max_expression_tokens = 512;

// Empty: there are too many, or a quote is not closed. A character in quotes counts as a number.
CsharpTokens csharp_tokens(std::string_view text);

// With blanks between them.
std::string text_of(const CsharpTokens& tokens);
std::string text_of(const CsharpTokens& tokens, std::size_t begin, std::size_t end);

// ".", "->" and "::".
bool joins(const CsharpToken& token);

// Behind the bracket that closes the one at `open`.
std::size_t end_of_group(const CsharpTokens& tokens, std::size_t open);

} // namespace clr::lldb_plugin
