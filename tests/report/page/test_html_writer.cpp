// Texts of a target on a page: whatever they hold, they stay texts.
#include "core/report/page/html_writer.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("markup in a text is shown, not obeyed") {
  CHECK(html_text("List<int> & \"x\" 'y'") == "List&lt;int&gt; &amp; &quot;x&quot; &#39;y&#39;");
  CHECK(html_text("</script></style><!--") == "&lt;/script&gt;&lt;/style&gt;&lt;!--");
  CHECK(html_text("&lt;") == "&amp;lt;");
  CHECK(html_text("]]>") == "]]&gt;");
}

TEST_CASE("what must not be shown on a page is escaped as on a terminal") {
  CHECK(html_text("a\x1b[31mb\n") == "a\\x1b[31mb\\x0a");
  CHECK(html_text(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(html_text("\u202egpj.exe") == "\\u202egpj.exe");
  CHECK(html_text("\xff<") == "\\xff&lt;");
  CHECK(html_text("\ufffe\uffff") == "\\ufffe\\uffff");
  CHECK(html_text("h\u00e9llo \u4e16\U0001f600") == "h\u00e9llo \u4e16\U0001f600");
}

TEST_CASE("a text that is too long is cut between characters") {
  const std::string text = html_text(std::string(max_page_text - 1, 'a') + "\u4e16\u4e16");
  CHECK(text == std::string(max_page_text - 1, 'a') + "...");
  CHECK(html_text(std::string(max_page_text, 'a')) == std::string(max_page_text, 'a'));
}

TEST_CASE("a text cannot leave its element or attribute") {
  std::string out;
  HtmlWriter html(out);
  html.begin("p", {{"title", "\"><script>alert('1')</script>"}, {"class", "a"}});
  html.text("</p><script>");
  html.element("b", "x<y");
  html.empty("br");
  html.end();
  CHECK(out == "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\" class=\"a\">"
               "&lt;/p&gt;&lt;script&gt;<b>x&lt;y</b><br/></p>");
}

TEST_CASE("every byte of a text is a text, in elements and in attributes") {
  for (unsigned first = 0; first < 256; ++first)
    for (const unsigned second : {0x00U, 0x22U, 0x26U, 0x27U, 0x2fU, 0x3cU, 0x3eU, 0x80U, 0xbfU, 0xffU}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second), '<'};
      const std::string shown = html_text(text);
      INFO(first << " " << second << ": " << shown);
      CHECK(shown.find_first_of("<>\"'") == std::string::npos);
      for (const char c : shown) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    }
}

TEST_CASE("numbers for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(1'234'567) == "1,234,567");
  CHECK(grouped(18'446'744'073'709'551'615U) == "18,446,744,073,709,551,615");
  CHECK(size_text(999) == "999 bytes");
  CHECK(size_text(1'000) == "1.0 kB");
  CHECK(size_text(999'960) == "1.0 MB");
  CHECK(size_text(12'345'678) == "12.3 MB");
  CHECK(size_text(18'446'744'073'709'551'615U) == "18.4 EB");
}

TEST_CASE("a page that has its length has no room") {
  std::string out(HtmlWriter::max_page_bytes - 1, ' ');
  HtmlWriter html(out);
  CHECK(html.has_room());
  html.empty("br");
  CHECK_FALSE(html.has_room());
}
