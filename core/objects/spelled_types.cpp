#include "core/objects/spelled_types.h"

#include "core/objects/type_search.h"

#include <algorithm>
#include <set>
#include <utility>

namespace clr {
namespace {

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const int lower = byte | 0x20;
  return (lower >= 'a' && lower <= 'z') || c == '_' || c == '$' || byte >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads the words of an expression.
class Words {
public:
  explicit Words(std::string_view text) : text_(text) {}

  bool more() const { return at_ < text_.size(); }
  char now() const { return text_[at_]; }
  void skip() { ++at_; }

  std::string word() {
    const std::size_t begin = at_;
    while (more() && (is_letter(now()) || is_digit(now()))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // The text in quotes that begins here.
  void skip_text() {
    const char quote = now();
    for (++at_; more() && now() != quote; ++at_)
      if (now() == '\\' && at_ + 1 < text_.size()) ++at_;
    if (more()) ++at_;
  }

  // "::" or "." with a word behind it; 0, and nothing is read, when none is there.
  char separator() {
    const std::size_t size = text_.substr(at_).starts_with("::") ? 2 : 1;
    if (!more() || (size == 1 && now() != '.') || at_ + size >= text_.size() || !is_letter(text_[at_ + size]))
      return 0;
    const char found = now();
    at_ += size;
    return found;
  }

private:
  std::string_view text_;
  std::size_t at_ = 0;
};

} // namespace

std::vector<SpelledName> spelled_names(std::string_view expression) {
  std::vector<SpelledName> names;
  Words words(expression);
  char before = ' ', arrow = ' '; // the last character that is no space, and the one before it
  while (words.more() && names.size() < max_spelled_names) {
    const char c = words.now();
    if (c == '"' || c == '\'') {
      words.skip_text();
      arrow = std::exchange(before, c);
      continue;
    }
    if (!is_letter(c)) {
      // A number with a dot or a suffix is no name.
      if (is_digit(c))
        words.word();
      else
        words.skip();
      if (c != ' ') arrow = std::exchange(before, c);
      continue;
    }
    const bool member = before == '.' || (arrow == '-' && before == '>') || is_digit(before);
    SpelledName name{.parts = {words.word()}};
    for (char separator = words.separator(); separator != 0; separator = words.separator()) {
      if (separator == ':') name.colons = true;
      // Behind the name of a type with colons, a dot leads to a member of a value.
      std::string part = words.word();
      if ((separator == '.' && name.colons) || name.parts.size() >= max_spelled_parts) continue;
      name.parts.push_back(std::move(part));
    }
    before = 'a';
    if (!member && name.parts.size() > 1 && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

std::string spelled_type(std::string_view text) {
  std::string spelled(text);
  unsigned arguments = 0; // of generic types: the dots in them are no separators
  for (char& c : spelled) {
    if (c == '<') ++arguments;
    if (c == '>' && arguments != 0) --arguments;
    if (!is_letter(c) && !is_digit(c) && (c != '.' || arguments != 0)) c = '_';
  }
  return spelled;
}

std::map<std::string, Address> find_spelled(ObjectReader& objects, std::span<const std::string> names) {
  const std::set<std::string, std::less<>> wanted(names.begin(), names.end());
  std::map<std::string, Address> found;
  std::set<std::string> several;
  TypeLayouts& layouts = objects.layouts();
  search_types(objects.finder(),
               {.wanted =
                    [&](const Metadata&, std::uint32_t, const std::string& text, bool generic) {
                      if (!generic) return wanted.contains(spelled_type(text));
                      const std::string begin = spelled_type(text.substr(0, text.find('`'))) + '_';
                      const auto next = wanted.lower_bound(begin);
                      return next != wanted.end() && next->starts_with(begin);
                    },
                .visit =
                    [&](Address table, const std::string& text) {
                      std::string spelled = spelled_type(text.empty() ? layouts.of(table).text : text);
                      if (wanted.contains(spelled) && !found.emplace(spelled, table).second)
                        several.insert(std::move(spelled));
                      return true;
                    }});
  for (const std::string& name : several) found.erase(name);
  return found;
}

} // namespace clr
