#include "core/objects/known_values.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

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

// "-1.25e+03" as .NET writes it: beyond `max_digits` places, and for less than 0.0001, with an exponent of at
// least two digits.
std::string place_digits(std::string_view scientific, int max_digits) {
  const std::size_t e = scientific.find('e');
  std::string digits;
  for (const char c : scientific.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  const std::string sign = scientific.front() == '-' ? "-" : "";
  const int exponent = std::stoi(std::string(scientific.substr(e + 1)));
  const int before_point = exponent + 1;
  const auto count = static_cast<int>(digits.size());
  if (before_point > std::max(count, max_digits) || before_point < -3)
    return fmt::format("{}{}{}{}E{}{:02}", sign, digits[0], count > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  if (before_point <= 0)
    return sign + "0" +
           (digits == "0" ? "" : "." + std::string(static_cast<std::size_t>(-before_point), '0') + digits);
  if (count <= before_point)
    return sign + digits + std::string(static_cast<std::size_t>(before_point - count), '0');
  digits.insert(static_cast<std::size_t>(before_point), ".");
  return sign + digits;
}

// The digits of "1.50e+03" without zeros at their end.
std::string trimmed(const std::string& scientific) {
  const std::size_t e = scientific.find('e');
  std::string digits = scientific.substr(0, e);
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits + scientific.substr(e);
}

// The shortest digits that give `value` back.
template<typename Real>
std::string real(Real value, int max_digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  return place_digits({buffer.data(), static_cast<std::size_t>(end - buffer.data())}, max_digits);
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
  return real(value, 9);
}

std::string format_real(double value) {
  return real(value, 17);
}

// A half has 11 bits of precision, so 5 digits always give it back; the fewest that do are looked for.
std::string format_half(std::uint16_t bits) {
  constexpr int precision = 5;
  const auto value_of = [](std::uint16_t half) {
    const int exponent = half >> 10 & 0x1f;
    const double fraction = half & 0x3ff;
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                         : std::ldexp(1024 + fraction, exponent - 25);
    return (half & 0x8000) != 0 ? -size : size;
  };
  const double value = value_of(bits);
  if (std::isnan(value) || std::isinf(value)) return real(value, precision);
  const double below = value_of(static_cast<std::uint16_t>((bits & 0x7fff) == 0 ? bits : bits - 1));
  const double above =
      (bits & 0x7fff) == 0x7bff ? 2 * value - below : value_of(static_cast<std::uint16_t>(bits + 1));
  for (int digits = 0; digits < precision; ++digits) {
    const std::string text = fmt::format("{:.{}e}", value, digits);
    double back = 0; // std::stod would read it by the rules of the user's country
    std::from_chars(text.data(), text.data() + text.size(), back);
    const double off = std::abs(back - value);
    if (off * 2 < std::abs(value - below) && off * 2 < std::abs(above - value))
      return place_digits(trimmed(text), precision);
    if (value == 0) return place_digits(text, precision);
  }
  return place_digits(trimmed(fmt::format("{:.{}e}", value, precision - 1)), precision);
}

std::string format_date_offset(std::uint64_t date_data, std::int32_t offset_minutes) {
  constexpr std::int32_t max_offset = 14 * 60;
  if (offset_minutes < -max_offset || offset_minutes > max_offset) return {};
  const std::uint64_t ticks = (date_data & ticks_mask) + static_cast<std::uint64_t>(offset_minutes) * 60 *
                                                             static_cast<std::uint64_t>(ticks_per_second);
  const std::string text = format_date_time(ticks);
  return text.empty() ? text
                      : fmt::format("{} {}{:02}:{:02}", text, offset_minutes < 0 ? '-' : '+',
                                    std::abs(offset_minutes) / 60, std::abs(offset_minutes) % 60);
}

std::string format_big_integer(std::vector<std::uint32_t> words, bool negative) {
  constexpr std::uint32_t chunk = 1'000'000'000; // 9 digits at a time
  std::vector<std::uint32_t> chunks;
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      const std::uint64_t value = rest << 32 | *word;
      *word = static_cast<std::uint32_t>(value / chunk);
      rest = value % chunk;
    }
    chunks.push_back(static_cast<std::uint32_t>(rest));
    while (!words.empty() && words.back() == 0) words.pop_back();
  }
  while (chunks.size() > 1 && chunks.back() == 0) chunks.pop_back();
  if (chunks.empty()) return "0";
  std::string text = fmt::format("{}{}", negative ? "-" : "", chunks.back());
  for (auto part = chunks.rbegin() + 1; part != chunks.rend(); ++part) text += fmt::format("{:09}", *part);
  return text;
}

std::string format_int128(std::uint64_t high, std::uint64_t low, bool with_sign) {
  const bool negative = with_sign && high >> 63 != 0;
  if (negative) {
    high = ~high + (low == 0 ? 1 : 0);
    low = ~low + 1;
  }
  return format_big_integer({static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                             static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)},
                            negative);
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
