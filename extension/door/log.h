// The debug log: what the plugin was asked, what it did and how long that took, in a file for a bug report.
#pragma once

#include "core/memory/error.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// The ways into the plugin. `command_override` is a command of LLDB's that the plugin takes over.
enum class LogEntry : std::uint8_t {
  plugin, // nobody called: the plugin speaks of itself
  command,
  command_override,
  stop_hook,
  breakpoint, // a callback of a breakpoint
  summary,
  c_interface,
};

// "command", "stop-hook": one word, as the log has it.
std::string_view to_string(LogEntry entry);

// A file of lines "TIME THREAD WAY-IN TEXT": UTC with microseconds, and the thread's number in the kernel.
// Lines hold names of commands and options, numbers, kinds and addresses of faults. Callers give it no
// strings of the target, no values of options and no paths. Functions may be called from any thread.
class DebugLog {
public:
  static constexpr std::uint64_t max_size = 64u << 20; // bytes of the file; then a last line, and no more
  static constexpr std::size_t max_text = 2000;        // bytes of one line's text; the rest is cut

  DebugLog() = default;
  DebugLog(const DebugLog&) = delete;
  DebugLog& operator=(const DebugLog&) = delete;
  ~DebugLog() { close(); }

  // Appends to the file at `path`, which is made if there is none; only its owner may read it. What was open
  // is closed. `limit`: bytes of the file. Throws Error{io} with the reason, and the log is as it was then:
  // no regular file, a symbolic link, a file that has reached its limit, what the system refuses.
  void open(const std::string& path, std::uint64_t limit = max_size);
  void close() noexcept;

  // All that a call costs while the log is off.
  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }
  // As open() took it; empty when the log is off.
  std::string path() const;

  // One line, whole also when threads write at once. Nothing while the log is off. A write that the system
  // refuses ends the log: a debugger is not to fail for its log.
  void write(LogEntry entry, std::string_view text) noexcept;

private:
  void append(std::string_view line) noexcept;

  mutable std::mutex mutex_;
  std::atomic<bool> on_ = false;
  int file_ = -1;
  std::uint64_t size_ = 0, limit_ = 0;
  std::string path_;
};

// The log of this process. There is one for all debuggers, because the C interface, summaries and callbacks
// of breakpoints belong to no single one. It lives until the process ends.
DebugLog& debug_log();

// One call from outside. Its end writes a line: what was asked, what was noted, and the time that it took.
// While the log is off, making and ending one reads a flag and nothing more.
class LoggedCall {
public:
  explicit LoggedCall(LogEntry entry, std::string_view asked = {}, DebugLog& log = debug_log()) noexcept;
  ~LoggedCall();
  LoggedCall(const LoggedCall&) = delete;
  LoggedCall& operator=(const LoggedCall&) = delete;

  // Whether a note is worth making: ask before you format one.
  bool on() const noexcept { return on_; }
  // Adds "; TEXT" to the line.
  void note(std::string_view text) noexcept;
  // Adds the kind and the address of a fault. Its text is left out: it may hold names and paths.
  void fault(const Error& error) noexcept;
  // Another thread was in the plugin, so that nothing was done.
  void lost_turn() noexcept { note("lost its turn"); }

private:
  DebugLog& log_;
  const bool on_;
  const LogEntry entry_;
  std::chrono::steady_clock::time_point began_;
  std::string text_;
};

} // namespace clr::lldb_plugin
