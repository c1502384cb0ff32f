#include "core/memory/text_lines.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sys/stat.h>
#include <vector>

using namespace clr;
using namespace clr::test;

namespace {

std::vector<std::string> lines_of(const TemporaryDirectory& folder, std::string_view text,
                                  std::size_t max_line = 100) {
  const std::string path = folder.path("text");
  std::ofstream(path, std::ios::binary) << text;
  TextLines lines(path, max_line, text.size());
  std::vector<std::string> all;
  while (const auto line = lines.next()) {
    all.emplace_back(*line);
    CHECK(lines.number() == all.size());
  }
  CHECK_FALSE(lines.next());
  return all;
}

} // namespace

TEST_CASE("lines of a file come one by one, with and without an end of the last", "[text_lines]") {
  using Lines = std::vector<std::string>;
  const TemporaryDirectory folder;
  CHECK(lines_of(folder, "a\nb\n\nc") == Lines{"a", "b", "", "c"});
  CHECK(lines_of(folder, "a\r\nb\n") == Lines{"a\r", "b"});
  CHECK(lines_of(folder, "").empty());
  CHECK(lines_of(folder, "\n") == Lines{""});
  CHECK(lines_of(folder, std::string("a\0b\n", 4)) == Lines{std::string("a\0b", 3)});
}

TEST_CASE("a line over several pieces is whole, and a longer one than allowed is cut", "[text_lines]") {
  const TemporaryDirectory folder;
  const std::string wide(200'000, 'x');
  const auto all = lines_of(folder, "first\n" + wide + "\nlast\n", 150'000);
  REQUIRE(all.size() == 3);
  CHECK(all[1].size() == 150'001);
  CHECK(all[2] == "last");
  CHECK(lines_of(folder, wide + "\n" + wide, 200'000)[1] == wide);
}

TEST_CASE("a file that is too large, or no regular one, is refused", "[text_lines]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("text"), pipe = folder.path("pipe");
  std::ofstream(path) << "0123456789\n";
  const auto refusal = [](const std::string& file, std::uint64_t limit) {
    const auto fault = fault_of([&] { TextLines(file, 100, limit); });
    return fault ? std::string(fault->what()) : std::string("opened");
  };
  CHECK(refusal(path, 11) == "opened");
  CHECK(refusal(path, 10) == path + " has more than 10 bytes");
  CHECK(refusal(folder.path(), 10) == "cannot open " + folder.path() + ": not a regular file but a folder");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(pipe, 10) == "cannot open " + pipe + ": not a regular file but a pipe");
  // One that tells no size, or grows, is not read beyond the limit.
  TextLines stat("/proc/self/stat", 100, 3);
  CHECK(fault_of([&] { stat.next(); }).has_value());
}
