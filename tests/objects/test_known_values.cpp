// Values of the framework's own types in the form that .NET prints. The expected texts are the output of
// ToString().
#include "core/objects/known_values.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

using namespace clr;

TEST_CASE("dates and times", "[objects]") {
  CHECK(format_date(0) == "0001-01-01");
  CHECK(format_date(58) == "0001-02-28");
  CHECK(format_date(59) == "0001-03-01");
  CHECK(format_date(719'162) == "1970-01-01");
  CHECK(format_date(730'178) == "2000-02-29");
  CHECK(format_date(3'652'058) == "9999-12-31");
  CHECK(format_date(3'652'059).empty());
  CHECK(format_date_time(0) == "0001-01-01 00:00:00");
  CHECK(format_date_time(3'155'378'975'999'999'999) == "9999-12-31 23:59:59.9999999");
  CHECK(format_date_time(3'155'378'976'000'000'000).empty());
  CHECK(format_date_data(0x489f'7ff5'f7b5'8000) == "1970-01-01 00:00:00 UTC");
  CHECK(format_date_data(0x48df'4805'de5b'e320) == "2026-11-21 19:30:15.25 UTC");
  CHECK(format_date_data(0x089f'7ff5'f7b5'8000) == "1970-01-01 00:00:00");
  CHECK(format_date_data(0x889f'7ff5'f7b5'8000) == "1970-01-01 00:00:00 local");
  CHECK(format_time_of_day(702'152'500'000) == "19:30:15.25");
}

TEST_CASE("spans of time", "[objects]") {
  CHECK(format_time_span(0) == "00:00:00");
  CHECK(format_time_span(0xda5b'9f7f50) == "1.02:03:04.0050000");
  CHECK(format_time_span(-10'000'000) == "-00:00:01");
  CHECK(format_time_span(std::numeric_limits<std::int64_t>::min()) == "-10675199.02:48:05.4775808");
  CHECK(format_time_span(std::numeric_limits<std::int64_t>::max()) == "10675199.02:48:05.4775807");
}

TEST_CASE("identifiers and decimals", "[objects]") {
  CHECK(format_guid(0x0f8f'ad5b, 0xd9cb, 0x469f, {0xa1, 0x65, 0x70, 0x86, 0x77, 0x28, 0x95, 0x0e}) ==
        "0f8fad5b-d9cb-469f-a165-70867728950e");
  CHECK(format_decimal(0, 0, 0) == "0");
  CHECK(format_decimal(0x0002'0000, 0, 0) == "0.00");
  CHECK(format_decimal(0x8002'0000, 0, 1250) == "-12.50");
  CHECK(format_decimal(0x0003'0000, 0, 5) == "0.005");
  CHECK(format_decimal(0, 0xffff'ffff, 0xffff'ffff'ffff'ffff) == "79228162514264337593543950335");
  CHECK(format_decimal(0x001c'0000, 0xffff'ffff, 0xffff'ffff'ffff'ffff) == "7.9228162514264337593543950335");
  CHECK(format_decimal(0x001d'0000, 0, 1).empty());
  CHECK(format_decimal(1, 0, 1).empty());
}

TEST_CASE("real numbers and text", "[objects]") {
  CHECK(format_real(1.5f) == "1.5");
  CHECK(format_real(-0.1) == "-0.1");
  CHECK(format_real(std::nan("")) == "NaN");
  CHECK(format_real(-std::numeric_limits<double>::infinity()) == "-Infinity");
  CHECK(format_real(std::numeric_limits<float>::infinity()) == "Infinity");
  CHECK(escape("a \"b\" \\ c", '"') == "\"a \\\"b\\\" \\\\ c\"");
  CHECK(escape(std::string_view("one\ntwo\tthree\r\0\x01\x7f", 17), '"') ==
        "\"one\\ntwo\\tthree\\r\\0\\u0001\\u007f\"");
  CHECK(escape("'", '\'') == "'\\''");
  CHECK(escape("äöü €", '"') == "\"äöü €\"");
  CHECK(escape("a\u202eb\u2028\u009b", '"') == R"("a\u202eb\u2028\u009b")");
}

TEST_CASE("real numbers are written as .NET writes them", "[objects]") {
  CHECK(format_real(1e16) == "10000000000000000");
  CHECK(format_real(1e17) == "1E+17");
  CHECK(format_real(1.5e20) == "1.5E+20");
  CHECK(format_real(1e-4) == "0.0001");
  CHECK(format_real(1e-5) == "1E-05");
  CHECK(format_real(-0.0) == "-0");
  CHECK(format_real(0.0) == "0");
  CHECK(format_real(123456.789) == "123456.789");
  CHECK(format_real(5e-324) == "5E-324");
  CHECK(format_real(std::numeric_limits<double>::max()) == "1.7976931348623157E+308");
  CHECK(format_real(1e8f) == "100000000");
  CHECK(format_real(1e9f) == "1E+09");
  CHECK(format_real(1 / 3.0f) == "0.33333334");
}

TEST_CASE("halves", "[objects]") {
  for (const auto& [bits, text] :
       std::initializer_list<std::pair<unsigned, const char*>>{{0x3c00, "1"},
                                                               {0x3e00, "1.5"},
                                                               {0x2e66, "0.1"},
                                                               {0x7bff, "65500"},
                                                               {0x70e2, "10000"},
                                                               {0x0001, "6E-08"},
                                                               {0x0000, "0"},
                                                               {0x8000, "-0"},
                                                               {0xbc00, "-1"},
                                                               {0x7c00, "Infinity"},
                                                               {0xfc00, "-Infinity"},
                                                               {0x7e00, "NaN"}})
    CHECK(format_half(static_cast<std::uint16_t>(bits)) == text);
}

TEST_CASE("large integers", "[objects]") {
  CHECK(format_int128(0, 0, true) == "0");
  CHECK(format_int128(0x8000'0000'0000'0000, 0, true) == "-170141183460469231731687303715884105728");
  CHECK(format_int128(~0ull, ~0ull, true) == "-1");
  CHECK(format_int128(~0ull, ~0ull, false) == "340282366920938463463374607431768211455");
  CHECK(format_big_integer({}, true) == "0");
  CHECK(format_big_integer({0, 1}, true) == "-4294967296");
  CHECK(format_big_integer({0xca00'0000, 0x3b9a}, false) == "65536000000000"); // a chunk of zeros
}

TEST_CASE("dates with an offset", "[objects]") {
  CHECK(format_date_offset(0x089f'7ff5'f7b5'8000, 90) == "1970-01-01 01:30:00 +01:30");
  CHECK(format_date_offset(0x089f'7ff5'f7b5'8000, -210) == "1969-12-31 20:30:00 -03:30");
  CHECK(format_date_offset(0, -1).empty()); // before the first year
  CHECK(format_date_offset(0, 841).empty());
  CHECK(format_date_offset(0x089f'7ff5'f7b5'8000, INT32_MIN).empty());
}
