// Text of the target as UTF-8: where its characters end, where it may be cut, and how it may be shown on a
// terminal. Names and strings come from the target, so they may hold any bytes. Source: RFC 3629.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace clr {

// Bytes of the character at the front of `text`, 1 to 4. 0 when `text` is empty or begins with no valid
// character; overlong forms, surrogates and numbers beyond U+10FFFF are not valid. No reads.
std::size_t utf8_length(std::string_view text);

// Whether all of `text` is valid UTF-8; true for empty text.
bool is_utf8(std::string_view text);

// The longest beginning of `text` that has at most `limit` bytes and does not end within a character.
std::string_view cut_utf8(std::string_view text, std::size_t limit);

// `text` without an incomplete character at its end (the first bytes are there, the others are missing).
std::string_view without_cut_end(std::string_view text);

// `text` for a terminal: control characters (C0, DEL, C1) become \xNN or \u00NN, because a terminal obeys
// them, and so does each byte that belongs to no character, because it may confuse the terminal. JSON and
// scripts get the unchanged text.
std::string printable(std::string_view text);

} // namespace clr
