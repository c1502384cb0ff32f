#include "core/objects/known_values.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace clr {
namespace {

constexpr std::uint64_t ticks_per_day = 864'000'000'000;
constexpr std::uint32_t days_to_10000 = 3'652'059;
constexpr std::uint64_t ticks_mask = 0x3FFF'FFFF'FFFF'FFFF;
constexpr unsigned kind_shift = 62;
constexpr unsigned max_decimal_places = 28;

std::string fraction(std::uint64_t ticks) {
  if (ticks == 0) return {};
  std::string digits = fmt::format(".{:07}", ticks);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

template<typename Real>
std::string real(Real value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return fmt::format("{}", value);
}

} // namespace

// Source of the conversion: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
std::string format_date(std::uint32_t days) {
  if (days >= days_to_10000) return {};
  constexpr std::uint32_t march_of_year_0 = 306; // days from 0000-03-01 to 0001-01-01
  constexpr std::uint32_t days_per_era = 146'097;
  const std::uint32_t shifted = days + march_of_year_0;
  const std::uint32_t era = shifted / days_per_era, day_of_era = shifted % days_per_era;
  const std::uint32_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / (days_per_era - 1)) / 365;
  const std::uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint32_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::uint32_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::uint32_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::uint32_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return fmt::format("{:04}-{:02}-{:02}", year, month, day);
}

std::string format_time_of_day(std::uint64_t ticks) {
  constexpr auto per_second = static_cast<std::uint64_t>(ticks_per_second);
  const std::uint64_t seconds = ticks / per_second;
  return fmt::format("{:02}:{:02}:{:02}{}", seconds / 3'600, seconds / 60 % 60, seconds % 60,
                     fraction(ticks % per_second));
}

std::string format_date_time(std::uint64_t ticks) {
  if (ticks / ticks_per_day >= days_to_10000) return {};
  return format_date(static_cast<std::uint32_t>(ticks / ticks_per_day)) + ' ' +
         format_time_of_day(ticks % ticks_per_day);
}

std::string format_date_data(std::uint64_t date_data) {
  std::string text = format_date_time(date_data & ticks_mask);
  if (text.empty()) return text;
  switch (date_data >> kind_shift) {
  case 0:
    return text;
  case 1:
    return text + " UTC";
  default:
    return text + " local";
  }
}

std::string format_time_span(std::int64_t ticks) {
  // The smallest value has no positive counterpart, so the result is unsigned.
  const std::uint64_t size =
      ticks < 0 ? ~static_cast<std::uint64_t>(ticks) + 1 : static_cast<std::uint64_t>(ticks);
  constexpr auto per_second = static_cast<std::uint64_t>(ticks_per_second);
  const std::uint64_t days = size / ticks_per_day, seconds = size % ticks_per_day / per_second;
  std::string text = ticks < 0 ? "-" : "";
  if (days != 0) text += fmt::format("{}.", days);
  text += fmt::format("{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60, seconds % 60);
  if (const std::uint64_t rest = size % per_second; rest != 0) text += fmt::format(".{:07}", rest);
  return text;
}

std::string format_guid(std::uint32_t a, std::uint16_t b, std::uint16_t c,
                        const std::array<std::uint8_t, 8>& rest) {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:02x}{:02x}-{:02x}{:02x}{:02x}{:02x}{:02x}{:02x}", a, b, c,
                     rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]);
}

std::string format_decimal(std::uint32_t flags, std::uint32_t high, std::uint64_t low) {
  constexpr std::uint32_t sign = 0x8000'0000, places_mask = 0x00FF'0000;
  const std::uint32_t places = (flags & places_mask) >> 16;
  if ((flags & ~(sign | places_mask)) != 0 || places > max_decimal_places) return {};
  std::array<std::uint32_t, 3> words{high, static_cast<std::uint32_t>(low >> 32),
                                     static_cast<std::uint32_t>(low)};
  std::string digits; // in reverse order
  while (words[0] != 0 || words[1] != 0 || words[2] != 0 || digits.size() <= places) {
    std::uint64_t rest = 0;
    for (std::uint32_t& word : words) {
      const std::uint64_t value = rest << 32 | word;
      word = static_cast<std::uint32_t>(value / 10);
      rest = value % 10;
    }
    if (digits.size() == places && places != 0) digits += '.';
    digits += static_cast<char>('0' + rest);
    if (digits.size() > places && words[0] == 0 && words[1] == 0 && words[2] == 0) break;
  }
  if ((flags & sign) != 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string format_real(float value) {
  return real(value);
}

std::string format_real(double value) {
  return real(value);
}

std::string escape(std::string_view text, char quote) {
  std::string out;
  out.reserve(text.size() + 2);
  out += quote;
  for (const char c : text) {
    switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\0':
      out += "\\0";
      break;
    case '\\':
      out += "\\\\";
      break;
    default:
      if (c == quote)
        out += fmt::format("\\{}", c);
      else
        out += c;
    }
  }
  return printable(out += quote, Escape::json);
}

} // namespace clr
