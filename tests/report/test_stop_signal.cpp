#include "core/report/stop_signal.h"

#include <catch2/catch.hpp>

#include <csignal>

using namespace clr;

TEST_CASE("stop signal: a process that somebody stopped has not failed") {
  for (const int signal : {0, SIGSTOP, SIGINT, SIGTSTP, SIGTRAP})
    CHECK_FALSE(says_that_it_failed(static_cast<std::uint64_t>(signal)));
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGKILL, SIGTERM, 34})
    CHECK(says_that_it_failed(static_cast<std::uint64_t>(signal)));
}

TEST_CASE("stop signal: in LLDB's words, also without a name") {
  CHECK(signal_text(SIGABRT) == "signal SIGABRT");
  CHECK(signal_text(SIGXFSZ) == "signal SIGXFSZ");
  CHECK(signal_text(34) == "signal 34");
}
