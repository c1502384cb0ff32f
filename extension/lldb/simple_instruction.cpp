#include "extension/lldb/simple_instruction.h"

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
constexpr std::array<std::uint8_t, 4> endbr64{0xf3, 0x0f, 0x1e, 0xfa};
// A prefix REX: W widens the operands to 64 bits, R and B add 8 to a register's number.
constexpr std::uint8_t rex_prefix = 0x40, rex_mask = 0xf0, rex_w = 8, rex_r = 4, rex_b = 1;
constexpr std::uint8_t nop_code = 0x90, push_code = 0x50, store_code = 0x89, load_code = 0x8b;
constexpr std::uint8_t low_bits = 7, added = 8;
} // namespace

std::optional<SimpleInstruction> simple_instruction(std::span<const std::uint8_t> code) {
  if (code.size() >= endbr64.size() && std::ranges::equal(code.first(endbr64.size()), endbr64))
    return SimpleInstruction{.kind = SimpleInstruction::Kind::nothing, .size = endbr64.size()};
  std::size_t at = 0;
  std::uint8_t prefix = 0;
  if (!code.empty() && (code[0] & rex_mask) == rex_prefix) prefix = code[at++];
  if (at >= code.size()) return std::nullopt;
  const std::uint8_t operation = code[at++];
  const std::uint8_t reg = (prefix & rex_r) != 0 ? added : 0, base = (prefix & rex_b) != 0 ? added : 0;
  // With a prefix it exchanges registers.
  if (operation == nop_code && prefix == 0)
    return SimpleInstruction{.kind = SimpleInstruction::Kind::nothing, .size = at};
  if ((operation & ~low_bits) == push_code) {
    const auto from = static_cast<std::uint8_t>((operation & low_bits) | base);
    return SimpleInstruction{.kind = SimpleInstruction::Kind::push, .size = at, .from = from};
  }
  if ((operation != store_code && operation != load_code) || at >= code.size()) return std::nullopt;
  const std::uint8_t operands = code[at++];
  constexpr unsigned mode_shift = 6, reg_shift = 3, registers_only = 3;
  if (operands >> mode_shift != registers_only) return std::nullopt;
  const auto first = static_cast<std::uint8_t>(((operands >> reg_shift) & low_bits) | reg);
  const auto second = static_cast<std::uint8_t>((operands & low_bits) | base);
  return SimpleInstruction{.kind = SimpleInstruction::Kind::move,
                           .size = at,
                           .from = operation == store_code ? first : second,
                           .to = operation == store_code ? second : first,
                           .half = (prefix & rex_w) == 0};
}

} // namespace clr::lldb_plugin
