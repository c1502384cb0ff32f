// Converts text from the forms of the runtime and its files to UTF-8, and bytes to hexadecimal digits.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <span>
#include <string>

namespace clr {

// Appends UTF-16 text as UTF-8; an odd last byte is left out. Lone surrogates become U+FFFD: .NET strings may
// hold them, but UTF-8 may not.
void append_utf8(std::string& out, std::span<const std::byte> utf16, ByteOrder order);

// "0a1b": two lower-case digits for each byte.
std::string hex_digits(std::span<const std::byte> bytes);

} // namespace clr
