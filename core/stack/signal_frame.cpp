#include "core/stack/signal_frame.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t max_trampoline = 16;

bool code_is(MemoryReader& memory, Address pc, std::span<const std::uint8_t> wanted) {
  std::array<std::byte, max_trampoline> raw;
  const std::span<std::byte> code = std::span(raw).first(wanted.size());
  return memory.read_some(pc, code) == code.size() &&
         std::ranges::equal(code, wanted, {}, [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
}

} // namespace

std::optional<FrameLayout> signal_frame_layout(MemoryReader& memory, const Architecture& architecture,
                                               Address pc) {
  const SignalFrame& frame = architecture.signal_frame;
  if (frame.code.empty() || !code_is(memory, pc, frame.code)) return std::nullopt;
  const unsigned sp = architecture.roles.sp;
  FrameLayout layout;
  layout.interrupted = true;
  layout.cfa = {sp, 0};
  for (const SignalFrame::Place& place : frame.registers) {
    if (place.reg == sp)
      layout.stack_pointer_at = RegisterOffset{sp, place.offset_of_sp};
    else
      layout.save(place.reg, {sp, place.offset_of_sp});
  }
  return layout;
}

} // namespace clr
