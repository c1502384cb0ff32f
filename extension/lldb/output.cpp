#include "extension/lldb/output.h"

#include "core/memory/error.h"
#include "extension/lldb/newer_api.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t flush_size = 1 << 16;
// LLDB formats every text twice that does not fit into 1024 bytes, the first time only to measure it.
constexpr std::size_t print_size = 1000;

std::string too_long() {
  return fmt::format(
      "the answer is longer than {} MB, which is the most that LLDB is given to keep: the rest "
      "is left out; ask for a part of it",
      Output::max_text / 1'000'000);
}
} // namespace

void Output::add_line(std::string_view text) {
  buffer_ += printable(text);
  buffer_ += '\n';
  flush_when_large();
}

void Output::write(std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    buffer_ += printable(text.substr(0, end));
    if (end == text.npos) break;
    buffer_ += '\n';
    text.remove_prefix(end + 1);
    flush_when_large(); // of a text beyond max_text the lines in front of it are shown
  }
  flush_when_large();
}

void Output::write_of_lldb(std::string_view text) {
  buffer_ += text;
  flush_when_large();
}

void Output::flush_when_large() {
  if (handed_over_ + buffer_.size() > max_text + room_for_ends) {
    buffer_.clear();
    throw Error(ErrorKind::invalid_argument, too_long());
  }
  if (buffer_.size() >= flush_size) flush();
}

void Output::flush() {
  if (buffer_.empty()) return;
  for (std::size_t at = 0; at < buffer_.size(); at += print_size)
    result_->Printf("%.*s", static_cast<int>(std::min(print_size, buffer_.size() - at)), buffer_.data() + at);
  handed_over_ += buffer_.size();
  buffer_.clear();
}

void Output::error(std::string_view text) {
  flush();
  if (told_ && handed_over_ >= max_text) return; // a consequence
  result_->SetError(printable(text).c_str());
}

void Output::warning(std::string_view text) {
  flush();
  result_->AppendWarning(printable(text).c_str());
}

void Output::continued() {
  flush();
  result_->SetStatus(lldb::eReturnStatusSuccessContinuingNoResult);
}

void Output::progress(std::string_view what, std::size_t done, std::size_t of) {
  // The clock is asked only now and then: this is called for every item.
  constexpr std::size_t stride = 4096;
  if (of == 0 || done % stride != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::seconds(1) || isatty(STDERR_FILENO) == 0) return;
  shown_ = now;
  const std::string text = fmt::format("\r{}: {} %", what, done * 100 / of);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool Output::interrupted() {
  // LLDB writes down each call of its interface, which takes longer than a row.
  constexpr std::chrono::milliseconds pause(10);
  const auto now = std::chrono::steady_clock::now();
  const bool asks = !told_ && now - asked_ >= pause;
  if (asks) asked_ = now;
  if (asks && (debugger_.GetCommandInterpreter().WasInterrupted() || interrupt_requested(debugger_))) {
    told_ = true;
    error("interrupted");
  } else if (!told_ && handed_over_ >= max_text) {
    error(too_long());
    told_ = true;
  }
  return told_;
}

} // namespace clr::lldb_plugin
