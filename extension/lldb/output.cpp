#include "extension/lldb/output.h"

#include "extension/lldb/newer_api.h"

#include <unistd.h>

#include <cstdio>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t flush_size = 1 << 16;

// Length of the UTF-8 sequence at the front of `text`; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xc2 && first <= 0xdf ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates and numbers beyond Unicode.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}
} // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    const bool c1_control = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || first < 0x20 || first == 0x7f) {
      out += fmt::format("\\x{:02x}", first);
      text.remove_prefix(1);
    } else if (c1_control) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));
      text.remove_prefix(2);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= flush_size) flush();
}

void Output::flush() {
  if (buffer_.empty()) return;
  result_->Printf("%s", buffer_.c_str());
  buffer_.clear();
}

void Output::error(std::string_view text) {
  flush();
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
  if (!told_ && (debugger_.GetCommandInterpreter().WasInterrupted() || interrupt_requested(debugger_))) {
    told_ = true;
    error("interrupted");
  }
  return told_;
}

} // namespace clr::lldb_plugin
