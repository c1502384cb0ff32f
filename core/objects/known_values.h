// Prints values of the framework's own types as .NET prints them, independent of the culture. Pure functions.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/{DateTime,TimeSpan,Guid,Decimal}.cs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// A tick is 100 ns.
constexpr std::int64_t ticks_per_second = 10'000'000;

// "2026-11-21 19:30:15.25" for ticks since the year 1; "" beyond the year 9999.
std::string format_date_time(std::uint64_t ticks);
// The same for the data word of a DateTime, which holds its ticks and its kind; the text ends with " UTC", "
// local" or nothing.
std::string format_date_data(std::uint64_t date_data);
// The same for a DateTimeOffset, which holds UTC and the minutes to add to it: "2026-11-21 19:30:15 +01:00".
std::string format_date_offset(std::uint64_t date_data, std::int32_t offset_minutes);
// "2026-11-21" for days since the year 1; "" beyond the year 9999.
std::string format_date(std::uint32_t days);
// "19:30:15.25" for ticks since midnight.
std::string format_time_of_day(std::uint64_t ticks);
// "-1.02:03:04.0050000", the form of TimeSpan.ToString().
std::string format_time_span(std::int64_t ticks);
// "0f8fad5b-d9cb-469f-a165-70867728950e".
std::string format_guid(std::uint32_t a, std::uint16_t b, std::uint16_t c,
                        const std::array<std::uint8_t, 8>& rest);
// "-12.50". `flags`: sign in the top bit, decimal places in bits 16 to 23; "" when these flags are impossible
// for a decimal.
std::string format_decimal(std::uint32_t flags, std::uint32_t high, std::uint64_t low);
// The fewest digits that give the number back, as .NET prints it: "0.1", "1E-05", "1.5E+20", "NaN".
std::string format_half(std::uint16_t bits);
std::string format_real(float value);
std::string format_real(double value);

std::string format_int128(std::uint64_t high, std::uint64_t low, bool with_sign);
// A number of 32-bit words, the lowest first.
std::string format_big_integer(std::vector<std::uint32_t> words, bool negative);

// Text of a string or character literal: quotes and unprintable characters are escaped. `text` is UTF-8.
std::string escape(std::string_view text, char quote);

} // namespace clr
