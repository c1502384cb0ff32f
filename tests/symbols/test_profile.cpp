#include "core/symbols/profile.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace clr;

namespace {
std::optional<symbols::Sample> parse(std::string_view line) {
  symbols::Profile profile;
  return profile.parse(line, 1);
}
} // namespace

TEST_CASE("a line of samples is an address, a count and a time") {
  CHECK(parse("0x7f12ab")->address == 0x7f12ab);
  CHECK(parse("7F12ab")->address == 0x7f12ab);
  CHECK(parse("7f12ab")->count == 1);
  CHECK_FALSE(parse("7f12ab")->seconds.has_value());
  CHECK(parse("\t7f12ab  12 ")->count == 12);
  CHECK(parse("7f12ab 12 1.5 # text")->seconds == 1.5);
  CHECK(parse("7f12ab 3\r")->count == 3);
  CHECK(parse("ffffffffffffffff")->address == ~Address{0});
  for (const char* none : {"", "   ", "# 7f12ab", "\r"}) CHECK_FALSE(parse(none).has_value());
}

TEST_CASE("malformed lines are counted by class, with the first of each") {
  symbols::Profile profile;
  std::size_t number = 0;
  for (const std::string line : {"zz", "12 x", "12 0", "12 -1", "12 1.5", "12 99999999999999999999", "12 1 x",
                                 "12 1 -1", "12 1 nan", "12 1 inf", "12 1 1 1", "1ffffffffffffffff", "ok"})
    CHECK_FALSE(profile.parse(line, ++number).has_value());
  CHECK_FALSE(profile.parse(std::string(symbols::Profile::max_line, ' ') + "12", ++number).has_value());
  const symbols::Malformed& malformed = profile.malformed();
  CHECK(malformed.count_of(symbols::Profile::no_address) == 3);
  CHECK(malformed.count_of(symbols::Profile::bad_count) == 5);
  CHECK(malformed.count_of(symbols::Profile::bad_time) == 4);
  CHECK(malformed.count_of(symbols::Profile::too_much) == 1);
  CHECK(malformed.count_of(symbols::Profile::long_line) == 1);
  CHECK(malformed.total() == number);
  CHECK(malformed.classes().front().first == 1);
  CHECK(malformed.classes()[1].first == 2);
}

TEST_CASE("counts that are too large to be added up are left out, and none starts again at 0") {
  symbols::Profile profile;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto add = [&](const std::string& line, std::size_t number) {
    const auto sample = profile.parse(line, number);
    return sample.has_value() && profile.add(*sample);
  };
  CHECK(add("10 18446744073709551614", 1));
  CHECK_FALSE(add("10 18446744073709551615", 2));
  CHECK_FALSE(add("20 2", 3));
  CHECK(add("20", 4));
  CHECK_FALSE(add("20", 5));
  CHECK(profile.total() == most);
  CHECK(profile.malformed().count_of(symbols::Profile::bad_count) == 3);
}

TEST_CASE("samples of one owner are one row, the largest first") {
  symbols::Profile profile;
  for (const symbols::Sample& sample :
       {symbols::Sample{0x10, 1, std::nullopt}, symbols::Sample{0x20, 5, std::nullopt},
        symbols::Sample{0x11, 2, std::nullopt}, symbols::Sample{0x10, 1, std::nullopt},
        symbols::Sample{0x30, 4, 2.0}, symbols::Sample{0x30, 3, 9.0}})
    CHECK(profile.add(sample));
  CHECK(profile.total() == 16);
  CHECK(profile.distinct() == 5);
  std::size_t asked = 0;
  const auto owner_of = [&](Address address, std::optional<double> seconds) -> SampleOwner {
    ++asked;
    if (seconds) return {.function = *seconds < 5 ? "before" : "after", .module = {}, .file = {}};
    return {.function = address < 0x20 ? "a" : "b", .module = "m", .file = {}, .line = 7};
  };
  const auto [rows, left_out] = profile.rows(owner_of, [](std::size_t) { return true; });
  CHECK(left_out == 0);
  CHECK(asked == 5);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].count == 5);
  CHECK(rows[0].owner.function == "b");
  CHECK(rows[0].owner.line == 7);
  CHECK(rows[1].count == 4);
  CHECK(rows[2].count == 4);
  CHECK((rows[1].owner.function == "a" || rows[1].owner.function == "before"));
  CHECK(rows[3].owner.function == "after");
}

TEST_CASE("a report that is stopped has the rows of what was done") {
  symbols::Profile profile;
  for (Address address = 0; address < 100; ++address)
    profile.add({.address = address, .seconds = std::nullopt});
  const auto rows =
      profile
          .rows([](Address, auto) { return SampleOwner{.function = "f", .module = {}, .file = {}}; },
                [](std::size_t done) { return done < 10; })
          .rows;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].count == 10);
}

TEST_CASE("rows of one count are in the order of their owners") {
  symbols::Profile profile;
  for (Address address = 0; address < 100; ++address)
    profile.add({.address = address, .seconds = std::nullopt});
  const auto rows = profile
                        .rows(
                            [](Address address, auto) {
                              return SampleOwner{.function = "f",
                                                 .module = {},
                                                 .file = {},
                                                 .line = 1000 - static_cast<std::uint32_t>(address)};
                            },
                            [](std::size_t) { return true; })
                        .rows;
  REQUIRE(rows.size() == 100);
  for (std::uint32_t i = 0; i < 100; ++i) CHECK(rows[i].owner.line == 901 + i);
}

TEST_CASE("samples whose owners find no room are counted") {
  constexpr std::size_t other = 10'000;
  symbols::Profile profile;
  for (const std::uint64_t seconds : {0, 1, 2, 3})
    profile.add({.address = 0x10, .count = 10 + seconds, .seconds = static_cast<double>(seconds)});
  // The first leaves no room for the second and the last, but for the third.
  const auto [rows, left_out] = profile.rows(
      [&](Address, std::optional<double> seconds) {
        const std::size_t length = *seconds == 0   ? symbols::Profile::max_row_bytes - other
                                   : *seconds == 2 ? 1
                                                   : other;
        return SampleOwner{.function = std::string(length, 'f'), .module = {}, .file = {}};
      },
      [](std::size_t) { return true; });
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].count == 12);
  CHECK(rows[0].owner.function == "f");
  CHECK(rows[1].count == 10);
  CHECK(left_out == 11 + 13);
}
