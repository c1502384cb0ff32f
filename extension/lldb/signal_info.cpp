#include "extension/lldb/signal_info.h"

#include "extension/lldb/newer_api.h"

#include <charconv>

namespace clr::lldb_plugin {

std::optional<std::uint64_t> fault_address_in(std::string_view description) {
  const std::size_t at = description.find("fault address");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t digits = description.find("0x", at);
  if (digits == std::string_view::npos) return std::nullopt;
  const std::string_view text = description.substr(digits + 2);
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (end.ec != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> fault_address(lldb::SBThread& thread) {
  if (lldb::SBValue info = siginfo_of(thread); info.IsValid()) {
    lldb::SBError error;
    // LLDB 19 may answer with that of another thread, which stopped in the same moment.
    const std::uint64_t number = info.GetChildMemberWithName("si_signo").GetValueAsUnsigned(0);
    const bool is_of_stop =
        thread.GetStopReasonDataCount() != 0 && number == thread.GetStopReasonDataAtIndex(0);
    const std::int64_t code = info.GetChildMemberWithName("si_code").GetValueAsSigned(error, 0);
    lldb::SBValue address = info.GetValueForExpressionPath("._sifields._sigfault.si_addr");
    if (is_of_stop && error.Success() && address.IsValid()) {
      constexpr std::int64_t not_mapped = 1, no_permission = 2; // SEGV_MAPERR, SEGV_ACCERR
      if (code != not_mapped && code != no_permission) return std::nullopt;
      const std::uint64_t value = address.GetValueAsUnsigned(error, 0);
      if (error.Success()) return value;
    }
  }
  char text[256] = {};
  thread.GetStopDescription(text, sizeof text);
  return fault_address_in(text);
}

bool stop_at_signal(lldb::SBProcess& process, const char* name) {
  lldb::SBUnixSignals signals = process.GetUnixSignals();
  const std::int32_t number = signals.GetSignalNumberFromName(name);
  if (number == LLDB_INVALID_SIGNAL_NUMBER) return false;
  return signals.GetShouldStop(number) || signals.SetShouldStop(number, true);
}

} // namespace clr::lldb_plugin
