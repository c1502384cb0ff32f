#include "extension/commands/shortened.h"

namespace clr::lldb_plugin {

std::string_view shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  constexpr std::size_t max_continuation = 3; // bytes of a character behind its first
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = max_bytes;
  while (end > 0 && max_bytes - end <= max_continuation && continues(end)) --end;
  // Bytes that are no UTF-8 have no better place to be cut at.
  return text.substr(0, max_bytes - end <= max_continuation ? end : max_bytes);
}

} // namespace clr::lldb_plugin
