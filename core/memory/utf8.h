// Text of the target as UTF-8: where its characters end, where it may be cut, and how it may be shown on a
// terminal. Names and strings come from the target, so they may hold any bytes. Source: RFC 3629.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace clr {

// Bytes of the character at the front of `text`, 1 to 4. 0 when `text` is empty or begins with no valid
// character; overlong forms, surrogates and numbers beyond U+10FFFF are not valid. No reads.
std::size_t utf8_length(std::string_view text);

// Whether all of `text` is valid UTF-8; true for empty text.
bool is_utf8(std::string_view text);

// `text` with U+FFFD in the place of each byte that belongs to no character.
std::string whole_utf8(std::string_view text);

// The longest beginning of `text` that has at most `limit` bytes and does not end within a character.
std::string_view cut_utf8(std::string_view text, std::size_t limit);

// `text` without an incomplete character at its end (the first bytes are there, the others are missing).
std::string_view without_cut_end(std::string_view text);

// The longest beginning of `text` that a terminal may be given as it is. A terminal obeys control characters
// (C0, DEL, C1), turns text around at bidirectional marks (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066
// to U+2069), begins a new row at U+2028 and U+2029, and may be confused by bytes that belong to no
// character. Line breaks and tabs are controls, too: one within a name forges a row or a column.
std::string_view printable_part(std::string_view text);
// Whether that is all of it. Eight bytes of ASCII are looked at in one step.
bool is_printable(std::string_view text);

// How a character is written that must not be shown.
enum class Escape : std::uint8_t {
  shown, // \xNN for a byte, \u00NN or \uNNNN for a character of several; no more than four times as long
  json,  // \uNNNN; the text of JSON keeps its meaning by it, and must be UTF-8
};

// `text` for a terminal, with such characters escaped. It is made once, where a text leaves: `Output` for
// what commands print, `StringSection` and `DwarfLines` for published names. Twice is as good as once. JSON
// and scripts get the true text.
std::string printable(std::string_view text, Escape escape = Escape::shown);

// Whether `shown` is `text`, or how `text` is shown: users ask for names as they see them.
bool is_shown_as(std::string_view text, std::string_view shown);

} // namespace clr
