// The debug log: its lines, its file, its limits.
#include "extension/door/log.h"
#include "tests/memory/temporary_directory.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

using namespace clr;
using namespace clr::lldb_plugin;
using test::TemporaryDirectory;

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

mode_t mode_of(const std::string& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

std::string refusal(DebugLog& log, const std::string& path, std::uint64_t limit = DebugLog::max_size) {
  try {
    log.open(path, limit);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a call is one line: when, which thread, how, what, how long", "[log]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("log");
  DebugLog log;
  log.open(path);
  CHECK(log.path() == path);
  {
    LoggedCall call(LogEntry::command, "clr bt --count THREAD", log);
    REQUIRE(call.on());
    call.note("12 frames");
    call.fault(Error(ErrorKind::memory_missing, 0x1234, "a secret"));
    call.fault(Error(ErrorKind::io, "/home/me/secret"));
  }
  {
    LoggedCall call(LogEntry::stop_hook, "clr publish update", log);
    call.lost_turn();
  }
  log.write(LogEntry::plugin, "two\nlines\x1b[31m \xc2\x9b"
                              "5m \xe2\x80\xae"
                              "back \x80");
  const std::vector<std::string> lines = lines_of(path);
  REQUIRE(lines.size() == 3);
  const std::string front = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z )" + std::to_string(::gettid()) + " ";
  CAPTURE(lines);
  CHECK(std::regex_match(
      lines[0], std::regex(front + R"(command clr bt --count THREAD; 12 frames; fault memory_missing at )"
                                   R"(0x1234; fault io \(\d+\.\d{3} ms\))")));
  CHECK(std::regex_match(
      lines[1], std::regex(front + R"(stop-hook clr publish update; lost its turn \(\d+\.\d{3} ms\))")));
  CHECK(std::regex_match(lines[2],
                         std::regex(front + R"(plugin two lines\\x1b\[31m \\u009b5m \\u202eback \\x80)")));
}

TEST_CASE("a log that is off takes nothing", "[log]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("log");
  DebugLog log;
  CHECK_FALSE(log.on());
  CHECK(log.path().empty());
  log.open(path);
  log.close();
  CHECK_FALSE(log.on());
  LoggedCall call(LogEntry::summary, "asked", log);
  CHECK_FALSE(call.on());
  call.note("nothing");
  log.write(LogEntry::plugin, "nothing");
  CHECK(lines_of(path).empty());
}

TEST_CASE("a log is appended to, and only its owner may read it", "[log]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("log");
  std::ofstream(path) << "before\n";
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  const mode_t mask = ::umask(0);
  {
    DebugLog log;
    log.open(path);
    log.write(LogEntry::plugin, "behind");
    log.open(folder.path("new"));
  }
  ::umask(mask);
  REQUIRE(lines_of(path).size() == 2);
  CHECK(lines_of(path)[0] == "before");
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(folder.path("new")) == 0600);
}

TEST_CASE("what is no regular file is refused with the reason", "[log]") {
  const TemporaryDirectory folder;
  DebugLog log;
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  REQUIRE(::symlink("target", folder.path("link").c_str()) == 0);
  CHECK(refusal(log, folder.path("pipe")) ==
        "cannot log to " + folder.path("pipe") + ": it is not a regular file");
  CHECK(refusal(log, "/dev/null") == "cannot log to /dev/null: it is not a regular file");
  CHECK(refusal(log, folder.path("")).ends_with(": it is not a regular file"));
  CHECK(refusal(log, folder.path("link")).ends_with(": it is a symbolic link; give the file itself"));
  CHECK(::access(folder.path("target").c_str(), F_OK) != 0);
  CHECK(refusal(log, folder.path("no/such")).ends_with(": No such file or directory"));
  CHECK(refusal(log, "").ends_with(": No such file or directory"));
  CHECK_FALSE(log.on());

  log.open(folder.path("log"));
  CHECK_FALSE(refusal(log, folder.path("pipe")).empty());
  CHECK(log.path() == folder.path("log")); // it goes on
  log.write(LogEntry::plugin, "next");
  CHECK(lines_of(folder.path("log")).size() == 1);
}

TEST_CASE("a log ends at its limit and says so", "[log]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("log");
  constexpr std::uint64_t limit = 4000;
  DebugLog log;
  log.open(path, limit);
  for (int i = 0; i < 1000; ++i) log.write(LogEntry::plugin, "a line of the log");
  CHECK_FALSE(log.on());
  const std::vector<std::string> lines = lines_of(path);
  REQUIRE(lines.size() > 50);
  CHECK(lines.back().ends_with("plugin the log ends here: its limit is 4000 bytes"));
  CHECK(std::ranges::count_if(lines, [](const std::string& line) {
          return line.ends_with("a line of the log");
        }) == static_cast<std::ptrdiff_t>(lines.size() - 1));
  CHECK(refusal(log, path, limit / 2).find("and a log ends at 2000; move it away first") !=
        std::string::npos);
}

TEST_CASE("one line is bounded too", "[log]") {
  const TemporaryDirectory folder;
  DebugLog log;
  log.open(folder.path("log"));
  {
    LoggedCall call(LogEntry::c_interface, std::string(10'000, 'x'), log);
    for (int i = 0; i < 100; ++i) call.note(std::string(100, 'y'));
  }
  const std::vector<std::string> lines = lines_of(folder.path("log"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].size() < DebugLog::max_text + 200);
}

TEST_CASE("lines of several threads stay whole", "[log]") {
  const TemporaryDirectory folder;
  DebugLog log;
  log.open(folder.path("log"));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&log] {
        for (int i = 0; i < 200; ++i) log.write(LogEntry::breakpoint, "stopped at a place");
      });
    for (int i = 0; i < 20; ++i) log.path();
  }
  const std::vector<std::string> lines = lines_of(folder.path("log"));
  REQUIRE(lines.size() == 800);
  CHECK(std::ranges::all_of(
      lines, [](const std::string& line) { return line.ends_with(" breakpoint stopped at a place"); }));
}
