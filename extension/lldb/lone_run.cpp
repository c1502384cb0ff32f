#include "extension/lldb/lone_run.h"

#include "extension/lldb/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace clr::lldb_plugin {

namespace {
using namespace std::chrono_literals;

constexpr auto pause_between_looks = 100ms;
constexpr unsigned looks_until_stopped = 3;
// For the time that a look takes so many times of it pass until the next.
constexpr int rest_of_look = 20;

// 't' of a thread that a debugger has stopped, 'S' of one that waits; 0: it is gone.
char state_of(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_ends = text.rfind(')');
  return name_ends == std::string::npos || name_ends + 2 >= text.size() ? '\0' : text[name_ends + 2];
}

// The one thread that the debugger lets run, when it waits; 0: others run, or it does not wait.
std::uint64_t waits_alone(std::uint64_t process) {
  std::uint64_t found = 0;
  std::error_code error;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", process), error), end;
       !error && at != end; at.increment(error)) {
    if (++seen > LoneRun::max_threads) return 0;
    const char state = state_of(at->path());
    if (state == 't' || state == 0) continue;
    if (state != 'S' || found != 0) return 0;
    found = std::strtoull(at->path().filename().c_str(), nullptr, 10);
  }
  return seen > 1 ? found : 0;
}

// The runtime's handler of the signal by which it stops threads.
bool is_in_signal_handler(lldb::SBThread& thread) {
  constexpr std::uint32_t looked_at = 16;
  for (std::uint32_t i = 0; i < looked_at; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) return false;
    const char* const name = frame.GetFunctionName();
    if (name != nullptr && std::string_view(name) == "__restore_rt") return true;
  }
  return false;
}

// `again`: it stood for it before. LLDB may tell of a step that it gives up at such a stop, instead of the
// signal.
bool stands_for_signal(lldb::SBThread& thread, bool again) {
  const lldb::StopReason reason = thread.GetStopReason();
  if (reason == lldb::eStopReasonSignal) return thread.GetStopReasonDataAtIndex(0) == SIGSTOP;
  return !again && reason == lldb::eStopReasonPlanComplete && is_in_signal_handler(thread);
}
} // namespace

void LoneRun::watch() {
  lldb::SBProcess process = target_.GetProcess();
  // A signal that the user wants to reach the program, or that does not stop it, is no means.
  lldb::SBUnixSignals signals = process.GetUnixSignals();
  if (!on_this_host(target_) || !signals.GetShouldStop(SIGSTOP) || !signals.GetShouldSuppress(SIGSTOP))
    return;
  const std::scoped_lock lock(mutex_);
  process_ = process.GetProcessID();
  seen_ = 0;
  watches_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void LoneRun::rest() {
  const std::scoped_lock lock(mutex_);
  watches_ = false;
}

void LoneRun::quit() {
  {
    const std::scoped_lock lock(mutex_);
    quits_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  quits_ = watches_ = false;
  sent_.clear();
  here_.clear();
}

void LoneRun::run() {
  std::unique_lock lock(mutex_);
  auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(pause_between_looks);
  while (!quits_) {
    if (!watches_) {
      changed_.wait(lock);
      continue;
    }
    if (changed_.wait_for(lock, pause, [&] { return quits_; })) return;
    const auto began = std::chrono::steady_clock::now();
    if (watches_) look();
    pause = std::max(std::chrono::nanoseconds(pause_between_looks),
                     (std::chrono::steady_clock::now() - began) * rest_of_look);
  }
}

void LoneRun::look() {
  const std::uint64_t alone = waits_alone(process_);
  if (std::exchange(alone_, alone) != alone || alone == 0) seen_ = 0;
  if (alone == 0 || ++seen_ < looks_until_stopped) return;
  seen_ = 0;
  if (syscall(SYS_tgkill, process_, alone, SIGSTOP) == 0) sent_[alone] = false;
}

void LoneRun::see_stop() {
  here_.clear();
  for (auto at = sent_.begin(); at != sent_.end();) {
    lldb::SBThread thread = target_.GetProcess().GetThreadByID(at->first);
    const bool tells = thread.IsValid() && stands_for_signal(thread, at->second);
    if (tells) here_.insert(at->first);
    if (!thread.IsValid() || (at->second && !tells)) {
      at = sent_.erase(at);
      continue;
    }
    at->second = tells;
    ++at;
  }
}

std::vector<std::uint64_t> LoneRun::take(std::span<ThreadStop> stops) {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t stop = target_.GetProcess().GetStopID();
  const bool is_new = std::exchange(last_stop_, stop) != stop;
  if (is_new) see_stop();
  for (ThreadStop& found : stops)
    if (here_.contains(found.thread)) found = {.thread = found.thread};
  return is_new ? std::vector<std::uint64_t>(here_.begin(), here_.end()) : std::vector<std::uint64_t>();
}

bool LoneRun::goes_on(std::span<const ThreadStop> stops) const {
  return !here_.empty() && std::ranges::none_of(stops, [](const ThreadStop& stop) {
    return stop.kind < ThreadStop::Kind::passing;
  });
}

} // namespace clr::lldb_plugin
