#include "extension/door/log.h"

#include "core/memory/file_descriptor.h"
#include "core/memory/utf8.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace clr::lldb_plugin {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::io, fmt::format("cannot log to {}: {}", path, why));
}

[[noreturn]] void refuse_by_system(const std::string& path) {
  refuse(path, std::strerror(errno));
}

void refuse_other_kinds(const std::string& path, mode_t mode) {
  if (S_ISLNK(mode)) refuse(path, "it is a symbolic link; give the file itself");
  if (!S_ISREG(mode)) refuse(path, "it is not a regular file");
}

std::string now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::time_t(microseconds / 1'000'000)),
                     microseconds % 1'000'000);
}

std::string line_of(LogEntry entry, std::string_view text) {
  // Commands hold line breaks of the user's own; everything else that a terminal obeys came with a name.
  std::string one_line(text.substr(0, DebugLog::max_text));
  std::ranges::replace(one_line, '\n', ' ');
  const std::string shown = printable(one_line);
  return fmt::format("{} {} {} {}\n", now(), ::syscall(SYS_gettid), to_string(entry),
                     std::string_view(shown).substr(0, DebugLog::max_text));
}

} // namespace

std::string_view to_string(LogEntry entry) {
  switch (entry) {
  case LogEntry::plugin:
    return "plugin";
  case LogEntry::command:
    return "command";
  case LogEntry::command_override:
    return "override";
  case LogEntry::stop_hook:
    return "stop-hook";
  case LogEntry::breakpoint:
    return "breakpoint";
  case LogEntry::summary:
    return "summary";
  case LogEntry::c_interface:
    return "c-interface";
  }
  return "?";
}

void DebugLog::open(const std::string& path, std::uint64_t limit) {
  // Looked at before it is opened: opening a device or a pipe can have effects. Looked at again afterwards:
  // another file may have taken its place.
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) refuse_other_kinds(path, found.st_mode);
  FileDescriptor file(::open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  if (!file.is_open() || ::fstat(file.number(), &found) != 0) refuse_by_system(path);
  refuse_other_kinds(path, found.st_mode);
  if (::fchmod(file.number(), 0600) != 0) refuse_by_system(path);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size >= limit)
    refuse(path, fmt::format("it has {} bytes, and a log ends at {}; move it away first", size, limit));
  const std::lock_guard lock(mutex_);
  if (file_ >= 0) ::close(file_);
  path_ = path;
  size_ = size;
  limit_ = limit;
  file_ = file.release();
  on_ = true;
}

void DebugLog::close() noexcept {
  const std::lock_guard lock(mutex_);
  on_ = false;
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  path_.clear();
}

std::string DebugLog::path() const {
  const std::lock_guard lock(mutex_);
  return on_ ? path_ : std::string();
}

void DebugLog::write(LogEntry entry, std::string_view text) noexcept {
  if (!on()) return;
  try {
    const std::string line = line_of(entry, text);
    const std::lock_guard lock(mutex_);
    if (file_ < 0) return; // closed in the meantime
    if (size_ + line.size() <= limit_) return append(line);
    append(line_of(LogEntry::plugin, fmt::format("the log ends here: its limit is {} bytes", limit_)));
    on_ = false;
  } catch (const std::exception&) {
    on_ = false; // out of memory
  }
}

void DebugLog::append(std::string_view line) noexcept {
  const ssize_t written = ::write(file_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) on_ = false;
  if (written > 0) size_ += static_cast<std::uint64_t>(written);
}

DebugLog& debug_log() {
  // Never destroyed: threads of LLDB may still call when the process ends.
  static DebugLog* const log = new DebugLog;
  return *log;
}

LoggedCall::LoggedCall(LogEntry entry, std::string_view asked, DebugLog& log) noexcept
    : log_(log), on_(log.on()), entry_(entry) {
  if (!on_) return;
  began_ = std::chrono::steady_clock::now();
  note(asked);
}

LoggedCall::~LoggedCall() {
  if (!on_) return;
  const auto took = std::chrono::steady_clock::now() - began_;
  const double milliseconds = std::chrono::duration<double, std::milli>(took).count();
  try {
    log_.write(entry_, fmt::format("{} ({:.3f} ms)", text_, milliseconds));
  } catch (const std::exception&) {
    log_.write(entry_, "out of memory");
  }
}

void LoggedCall::note(std::string_view text) noexcept {
  if (!on_ || text.empty() || text_.size() >= DebugLog::max_text) return;
  try {
    if (!text_.empty()) text_ += "; ";
    text_ += text.substr(0, DebugLog::max_text);
  } catch (const std::exception&) {
    text_.clear(); // out of memory
  }
}

void LoggedCall::fault(const Error& error) noexcept {
  if (!on_) return;
  try {
    note(error.address() ? fmt::format("fault {} at {:#x}", to_string(error.kind()), *error.address())
                         : fmt::format("fault {}", to_string(error.kind())));
  } catch (const std::exception&) {
    note("fault");
  }
}

} // namespace clr::lldb_plugin
