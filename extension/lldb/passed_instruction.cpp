#include "extension/lldb/passed_instruction.h"

#include "extension/lldb/registers.h"
#include "extension/lldb/simple_instruction.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t words_of_breakpoint = 2; // of a stop's reason: the breakpoint's number, its location's

bool write(lldb::SBThread& thread, std::uint8_t number, std::uint64_t value) {
  lldb::SBValue place = thread.GetFrameAtIndex(0).FindRegister(general_registers[number]);
  return place.IsValid() && place.SetValueFromCString(fmt::format("{:#x}", value).c_str());
}

struct Effect {
  std::uint8_t written = 0; // the register
  std::uint64_t value = 0;
};

// What `instruction` writes to registers; what it writes to memory is done here, below the top of the stack,
// where nobody reads yet.
std::optional<Effect> effect_of(const SimpleInstruction& instruction, lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  const auto value = register_of(frame, general_registers[instruction.from]);
  if (!value) return std::nullopt;
  if (instruction.kind == SimpleInstruction::Kind::move)
    return Effect{instruction.to, instruction.half ? static_cast<std::uint32_t>(*value) : *value};
  constexpr std::uint8_t stack_pointer = 4;
  const auto top = register_of(frame, general_registers[stack_pointer]);
  if (!top) return std::nullopt;
  const std::uint64_t at = *top - sizeof *value;
  lldb::SBError error;
  if (thread.GetProcess().WriteMemory(at, &*value, sizeof *value, error) != sizeof *value)
    return std::nullopt;
  return Effect{stack_pointer, at};
}
} // namespace

void pass_instruction(lldb::SBThread& thread, lldb::addr_t place) {
  if (thread.GetStopReason() != lldb::eStopReasonBreakpoint ||
      thread.GetStopReasonDataCount() != words_of_breakpoint)
    return;
  lldb::SBProcess process = thread.GetProcess();
  const char* const triple = process.GetTarget().GetTriple();
  if (triple == nullptr || !std::string_view(triple).starts_with("x86_64")) return;
  std::array<std::uint8_t, simple_instruction_bytes> code{};
  lldb::SBError error;
  // LLDB shows what is below its traps.
  const std::size_t got = process.ReadMemory(place, code.data(), code.size(), error);
  const auto instruction = simple_instruction(std::span(code).first(got));
  if (!instruction) return;
  if (thread.GetFrameAtIndex(0).GetPC() != place) return;
  std::optional<Effect> effect;
  if (instruction->kind != SimpleInstruction::Kind::nothing) {
    effect = effect_of(*instruction, thread);
    if (!effect) return;
  }
  // LLDB tells frames by the place and the stack pointer: the place first.
  if (!thread.GetFrameAtIndex(0).SetPC(place + instruction->size)) return;
  if (effect && !write(thread, effect->written, effect->value)) thread.GetFrameAtIndex(0).SetPC(place);
}

} // namespace clr::lldb_plugin
