// Text of the target as UTF-8: where its characters end, where it may be cut, and what of it a terminal may
// be shown. Names and strings come from the target, so they may hold any bytes. Source: RFC 3629.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace clr {

// Bytes of the character at the front of `text`, 1 to 4; 0 when `text` is empty or begins with no character:
// overlong forms, surrogates and numbers beyond U+10FFFF are none. No reads.
std::size_t utf8_length(std::string_view text);

// Whether `text` is UTF-8 throughout; true for empty text.
bool is_utf8(std::string_view text);

// The longest beginning of `text` that has at most `limit` bytes and does not end within a character.
std::string_view cut_utf8(std::string_view text, std::size_t limit);

// `text` without the first bytes of a character at its end whose other bytes are missing.
std::string_view without_cut_end(std::string_view text);

// `text` for a terminal: control characters (C0, DEL, C1) become \xNN or \u00NN, and so does each byte that
// belongs to no character, because a terminal obeys the former and may be confused by the latter. JSON and
// scripts get the true text.
std::string printable(std::string_view text);

} // namespace clr
