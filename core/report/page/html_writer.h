// A page as text, element by element. It is XHTML as well as HTML. Texts of the target stand in texts and in
// values of attributes only, and both are escaped here and nowhere else: names of elements and of attributes
// are literals of this program.
#pragma once

#include "core/memory/count_text.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// Text that the compiler has seen.
class PageWord {
public:
  template<std::size_t Size>
  consteval PageWord(const char (&text)[Size]) : text_(text, Size - 1) {}
  constexpr std::string_view text() const { return text_; }

private:
  std::string_view text_;
};

// `text` for a text or the value of an attribute. What printable() escapes is shown as it is on a terminal;
// U+FFFE and U+FFFF, which XML forbids, are shown so, too. Of a text that is longer than max_page_text bytes
// the beginning and "...".
std::string html_text(std::string_view text);
constexpr std::size_t max_page_text = 2'000; // bytes of one text

// "12.3 MB", "1,023 bytes": for people; exact sizes stand beside it.
std::string size_text(std::uint64_t bytes);

class HtmlWriter {
public:
  struct Attribute {
    PageWord name;
    std::string value;
  };
  using Attributes = std::initializer_list<Attribute>;

  // Appends to `out`, which must outlive this.
  explicit HtmlWriter(std::string& out) : out_(&out) {}

  void begin(PageWord element, Attributes attributes = {});
  // Ends the innermost element.
  void end();
  void text(std::string_view text);
  // An element without content: <rect/>.
  void empty(PageWord element, Attributes attributes = {});
  // An element that holds a text and nothing else.
  void element(PageWord element, std::string_view content, Attributes attributes = {});
  // Text of this program that is a part of a page already.
  void literal(PageWord part) { *out_ += part.text(); }
  // Another piece of the page that a writer has made whole.
  void append(std::string_view piece) { *out_ += piece; }

  // False: the page is as long as it may become; only what ends it should follow.
  bool has_room() const { return out_->size() < max_page_bytes; }
  static constexpr std::size_t max_page_bytes = 6u << 20;

private:
  void start(PageWord element, Attributes attributes);

  std::string* out_;
  std::vector<PageWord> open_;
};

} // namespace clr
