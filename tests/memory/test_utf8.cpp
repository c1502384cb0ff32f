// Characters of UTF-8, by the table of RFC 3629, section 4.
#include "core/memory/utf8.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("a character's length is told by its bytes", "[utf8]") {
  CHECK(utf8_length("a") == 1);
  CHECK(utf8_length("\u00e9x") == 2);
  CHECK(utf8_length("\u20acx") == 3);
  CHECK(utf8_length("\U0001f600x") == 4);
  CHECK(utf8_length("\xf4\x8f\xbf\xbf") == 4); // U+10FFFF
  CHECK(utf8_length("\xed\x9f\xbf") == 3);     // U+D7FF, the last one before the surrogates
  CHECK(utf8_length("\xee\x80\x80") == 3);     // U+E000, the first one behind them
}

TEST_CASE("bytes that are no character have no length", "[utf8]") {
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("\x80") == 0);
  CHECK(utf8_length("\xc3") == 0);     // cut
  CHECK(utf8_length("\xe2\x82") == 0); // cut
  CHECK(utf8_length("\xc3x") == 0);
  CHECK(utf8_length("\xc0\xaf") == 0);         // overlong
  CHECK(utf8_length("\xe0\x9f\xbf") == 0);     // overlong
  CHECK(utf8_length("\xf0\x8f\xbf\xbf") == 0); // overlong
  CHECK(utf8_length("\xed\xa0\x80") == 0);     // U+D800
  CHECK(utf8_length("\xed\xbf\xbf") == 0);     // U+DFFF
  CHECK(utf8_length("\xf4\x90\x80\x80") == 0); // U+110000
  CHECK(utf8_length("\xf5\x80\x80\x80") == 0);
  CHECK(utf8_length("\xff") == 0);
}

TEST_CASE("text is UTF-8 or it is not", "[utf8]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("Ns.Caf\u00e9.\U0001f600()"));
  CHECK_FALSE(is_utf8("Ns.\xed\xa0\x80"));
  CHECK_FALSE(is_utf8("Ns.Caf\xc3"));
}

TEST_CASE("a cut never divides a character", "[utf8]") {
  CHECK(cut_utf8("abc", 3) == "abc");
  CHECK(cut_utf8("abc", 2) == "ab");
  CHECK(cut_utf8("a\u00e9", 2) == "a");
  CHECK(cut_utf8("a\u20ac", 3) == "a");
  CHECK(cut_utf8("a\U0001f600b", 4) == "a");
  CHECK(cut_utf8("a\U0001f600b", 5) == "a\U0001f600");
  CHECK(cut_utf8("\u20ac", 0).empty());
  CHECK(cut_utf8("\x80\x80\x80\x80\x80\x80", 5).size() == 5); // no text: cut anywhere
}

TEST_CASE("a character that was cut at the end goes", "[utf8]") {
  CHECK(without_cut_end("") == "");
  CHECK(without_cut_end("ab") == "ab");
  CHECK(without_cut_end("a\u20ac") == "a\u20ac");
  CHECK(without_cut_end("a\xe2\x82") == "a");
  CHECK(without_cut_end("a\xf0\x9f\x98") == "a");
  CHECK(without_cut_end("a\xc3") == "a");
  CHECK(without_cut_end("a\x80") == "a\x80"); // no beginning of a character: left as it is
}

TEST_CASE("a terminal gets no control characters", "[utf8]") {
  CHECK(printable("Ns.Caf\u00e9") == "Ns.Caf\u00e9");
  CHECK(printable("\x1b[31mred\n") == "\\x1b[31mred\\x0a");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("a\u009bb") == "a\\u009bb"); // CSI of eight bits
  CHECK(printable("a\xff") == "a\\xff");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}
