// Text as the runtime and its files store it, as UTF-8; bytes as hexadecimal digits.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <span>
#include <string>

namespace clr {

// Appends UTF-16 (an odd last byte is left out) as UTF-8. Lone surrogates, which .NET strings may hold and
// UTF-8 may not, become U+FFFD.
void append_utf8(std::string& out, std::span<const std::byte> utf16, ByteOrder order);

// "0a1b": two lower-case digits for each byte.
std::string hex_digits(std::span<const std::byte> bytes);

} // namespace clr
