// Values of the framework's own types in the form that .NET prints. The expected texts are the output of
// ToString().
#include "core/objects/known_values.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

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
