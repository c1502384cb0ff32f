#include "core/describe/stub_code.h"

#include "core/isa/x64/instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace clr {
namespace {

// The effect of an x64 instruction of a stub on the stack.
struct StackEffect {
  std::int64_t bytes = 0; // pushed
  bool ends = false;      // control does not go on behind it
};

StackEffect effect_of(std::span<const std::byte> code) {
  const auto at = [&](std::size_t index) {
    return index < code.size() ? std::to_integer<unsigned>(code[index]) : 0u;
  };
  constexpr std::int64_t word = 8;
  const std::size_t op = (at(0) & 0xF0) == 0x40 ? 1 : 0;
  const unsigned reg = at(op + 1) >> 3 & 7;
  if (at(op) >= 0x50 && at(op) < 0x58) return {word, false};
  if (at(op) >= 0x58 && at(op) < 0x60) return {-word, false};
  switch (at(op)) {
  case 0x68:
  case 0x6A:
    return {word, false};
  case 0x8F:
    return {-word, false};
  case 0xFF:
    return {reg == 6 ? word : 0, reg == 4};
  case 0xC2:
  case 0xC3:
  case 0xE9:
  case 0xEB:
    return {0, true};
  case 0xF3:
    return {0, at(op + 1) == 0xC3};
  default:
    return {};
  }
}

FrameLayout x64_layout(std::int64_t pushed) {
  FrameLayout layout{.cfa = {x64_register::rsp, pushed + 8}};
  layout.save(x64_register::rip, {x64_register::rsp, pushed});
  return layout;
}

FrameLayout entry_layout(const Platform& platform) {
  if (platform.cpu == Cpu::x64) return x64_layout(0);
  return {.cfa = {register_roles(platform.cpu).sp, 0}};
}

} // namespace

DebugUnwindRange stub_unwinding(const Platform& platform, std::span<const std::byte> code,
                                std::uint32_t size) {
  DebugUnwindRange range{.begin = 0, .end = size};
  DebugUnwindRows::List rows{{0, entry_layout(platform)}};
  constexpr std::int64_t most_pushed = 64;
  std::int64_t pushed = 0;
  for (std::uint32_t at = 0; platform.cpu == Cpu::x64 && at < size && at < code.size();) {
    const unsigned length = x64_instruction_length(code.subspan(at));
    const StackEffect effect = length == 0 ? StackEffect() : effect_of(code.subspan(at, length));
    const std::int64_t next = effect.ends ? 0 : pushed + effect.bytes;
    at += length;
    const bool lost = length == 0 || next < 0 || next > most_pushed;
    const std::int64_t now = lost ? 0 : next;
    if (now != pushed && at < size) {
      if (rows.back().offset == at) rows.pop_back();
      const FrameLayout layout = x64_layout(now);
      if (rows.empty() || rows.back().layout.cfa != layout.cfa) rows.push_back({at, layout});
    }
    pushed = now;
    if (lost) break;
  }
  range.rows = std::move(rows);
  return range;
}

DebugCode stub_code(const Platform& platform, StubKind kind, Address begin, Address end,
                    std::span<const std::byte> code) {
  DebugCode stub;
  stub.start = begin;
  stub.size = std::min<Address>(end - begin, std::numeric_limits<std::uint32_t>::max());
  stub.name = stub.full_name = fmt::format("[{}]", to_string(kind));
  stub.function = false;
  stub.unit = "stubs";
  stub.unwind.push_back(stub_unwinding(platform, code, static_cast<std::uint32_t>(stub.size)));
  // Else LLDB reads the code of all stubs in a row, and what lies between them, and follows what that would
  // push. Resolve stubs do push: where each begins must be known.
  stub.unwind.back().exact = kind != StubKind::vsd_resolve || !code.empty();
  return stub;
}

StubKind stub_kind_of_section(ExecutionManager& code, const RangeSection& section) {
  const CodeLookup found = code.find(section.begin);
  const auto* const miss = std::get_if<Miss>(&found);
  return miss != nullptr ? miss->stub.value_or(StubKind::unknown) : StubKind::unknown;
}

} // namespace clr
