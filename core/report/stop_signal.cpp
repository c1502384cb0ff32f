#include "core/report/stop_signal.h"

#include <fmt/format.h>

#include <csignal>
#include <map>
#include <set>
#include <string_view>

namespace clr {

bool says_that_it_failed(std::uint64_t signal) {
  static const std::set<std::uint64_t> harmless = {0, SIGSTOP, SIGINT, SIGTSTP, SIGTRAP};
  return !harmless.contains(signal);
}

std::string signal_text(int signal) {
  static const std::map<int, std::string_view> names = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGSTOP, "SIGSTOP"},
      {SIGTSTP, "SIGTSTP"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  const auto found = names.find(signal);
  return found == names.end() ? fmt::format("signal {}", signal) : fmt::format("signal {}", found->second);
}

} // namespace clr
