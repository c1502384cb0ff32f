// Numbers of things, in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace clr {

// Grouped digits are for pages that people read; the lines of commands are also cut into fields by scripts.
enum class Digits : std::uint8_t { plain, grouped };

// "1 object", "1234 objects"; grouped: "1,234 objects".
std::string count_text(std::uint64_t count, std::string_view what, Digits digits = Digits::plain);
// "1 entry", "12 entries".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);

// "1,234,567".
std::string grouped(std::uint64_t number);

} // namespace clr
