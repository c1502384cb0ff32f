// Where a command writes: LLDB's return object, piece by piece, and whether it should end. Texts
// hold names and strings of the target: here, and nowhere before, they become what a terminal may be given
// (core/memory/utf8.h).
#pragma once

#include "core/memory/utf8.h"

#include <fmt/format.h>
#include <lldb/API/LLDB.h>

#include <chrono>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

class Output {
public:
  Output(lldb::SBDebugger debugger, lldb::SBCommandReturnObject& result)
      : debugger_(std::move(debugger)), result_(&result) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // One line; a line break within it is escaped.
  template<typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add_line(fmt::format(format, std::forward<Args>(args)...));
  }
  // Lines, each ended by a line break; who composes them has made their parts printable, which may hold some.
  void write(std::string_view text);
  // What LLDB printed for a user, with its colours.
  void write_of_lldb(std::string_view text);
  // "error: TEXT" on the command's error stream; the command counts as failed, and may go on.
  void error(std::string_view text);
  // "warning: TEXT" there; the command still succeeds.
  void warning(std::string_view text);
  // The command let the process run.
  void continued();
  // How far a long command is, on the terminal if there is one: at most once a second, and not in its first.
  void progress(std::string_view what, std::size_t done, std::size_t of);
  // Hands over what is buffered.
  void flush();

  // True once the user pressed Ctrl-C during this command, or its text has reached max_text; the command has
  // an error then. Cheap enough for every row.
  bool interrupted();

  // Bytes of text of one command. LLDB keeps all of it, twice while it grows beyond a power of two (this is
  // below 2^27), and takes seconds to print so much.
  static constexpr std::size_t max_text = 125'000'000;

private:
  // For what ends a list behind max_text: totals, brackets of JSON.
  static constexpr std::size_t room_for_ends = 1'000'000;

  void add_line(std::string_view text);
  // Throws Error where a command does not end although its text has reached max_text.
  void flush_when_large();

  lldb::SBDebugger debugger_;
  lldb::SBCommandReturnObject* result_;
  std::string buffer_;
  std::size_t handed_over_ = 0; // bytes
  bool told_ = false;
  std::chrono::steady_clock::time_point asked_; // when LLDB was asked for Ctrl-C
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

} // namespace clr::lldb_plugin
