// Characters of UTF-8, by the table of RFC 3629, section 4.
#include "core/memory/utf8.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <string>

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

TEST_CASE("what is no character is replaced, byte by byte", "[utf8]") {
  CHECK(whole_utf8("") == "");
  CHECK(whole_utf8("a\u00e9\u20ac") == "a\u00e9\u20ac");
  CHECK(whole_utf8("a\xa8\xd2"
                   "F") == "a\ufffd\ufffd"
                           "F");
  CHECK(whole_utf8("\xe2\x82") == "\ufffd\ufffd"); // the end of one is missing
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
  CHECK(printable("a\nfake row\tb") == "a\\x0afake row\\x09b");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("a terminal gets no marks that turn text around, and no separators of rows", "[utf8]") {
  for (const char32_t mark : {0x061cU, 0x200eU, 0x200fU, 0x202aU, 0x202eU, 0x2066U, 0x2069U, 0x2028U, 0x2029U,
                              0x0080U, 0x009fU, 0x0085U}) {
    CAPTURE(static_cast<std::uint32_t>(mark));
    std::string text(1, static_cast<char>(0xc0 | mark >> 6));
    if (mark >= 0x800)
      text = {static_cast<char>(0xe0 | mark >> 12), static_cast<char>(0x80 | (mark >> 6 & 0x3f))};
    text += static_cast<char>(0x80 | (mark & 0x3f));
    CHECK_FALSE(is_printable(text));
    CHECK(printable("a" + text + "b") == fmt::format("a\\u{:04x}b", static_cast<std::uint32_t>(mark)));
  }
  // Their neighbours are letters and signs like others.
  for (const char* text : {"\u061b", "\u061d", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a",
                           "\u00a0", "\u00e9", "\U0001f600", "~", " "})
    CHECK(printable(text) == text);
}

TEST_CASE("a control is found at every place of a text", "[utf8]") {
  const std::string plain = "Ns.Type.Method(int, string[])~ ";
  CHECK(is_printable(plain));
  CHECK(is_printable(""));
  for (std::size_t at = 0; at < plain.size(); ++at)
    for (const char control : {'\x00', '\x1b', '\x1f', '\x7f', '\x80', '\xff'}) {
      std::string text = plain;
      text[at] = control;
      CAPTURE(at, control);
      CHECK(printable_part(text) == plain.substr(0, at));
      CHECK_FALSE(is_printable(text));
      CHECK(printable(text) == fmt::format("{}\\x{:02x}{}", plain.substr(0, at),
                                           static_cast<unsigned char>(control), plain.substr(at + 1)));
    }
}

TEST_CASE("what was made printable stays as it is", "[utf8]") {
  const std::string once = printable("\x1b]0;x\x07 \u202e\xff");
  CHECK(once == "\\x1b]0;x\\x07 \\u202e\\xff");
  CHECK(printable(once) == once);
}

TEST_CASE("escapes of JSON mean the character", "[utf8]") {
  CHECK(printable("a\x1b\x7f\u009b\u202e\u00e9", Escape::json) == "a\\u001b\\u007f\\u009b\\u202e\u00e9");
}

TEST_CASE("names are asked for as they are or as they are shown", "[utf8]") {
  CHECK(is_shown_as("Run", "Run"));
  CHECK_FALSE(is_shown_as("Run", "Ru"));
  CHECK(is_shown_as("R\x1bn", "R\x1bn"));
  CHECK(is_shown_as("R\x1bn", "R\\x1bn"));
  CHECK_FALSE(is_shown_as("R\x1bn", "Rn"));
}
