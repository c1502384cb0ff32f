#include "core/isa/x64/suspensions.h"

#include "core/isa/x64/calls.h"
#include "core/memory/memory_reader.h"

#include <algorithm>
#include <optional>

namespace clr {
namespace {

using CodeBytes = std::span<const std::byte>;

// An instruction as far as it matters here.
struct Step {
  enum class Kind { other, call, jump, branch, set, store } kind = Kind::other;
  std::int64_t target = 0;            // of a branch: the distance from its end
  bool when_equal = false;            // a branch for equal, not for unequal
  unsigned reg = 0;                   // that is set or stored
  bool constant = false;              // `value` is set or stored, not a register
  std::int64_t value = 0;             //
  std::optional<std::int64_t> offset; // of a store: from the register that holds an object
};

Step step_of(CodeBytes bytes) {
  const auto byte = [&](std::size_t n) {
    return n < bytes.size() ? std::to_integer<unsigned>(bytes[n]) : 0x100u;
  };
  const auto tail = [&](unsigned size) -> std::int64_t {
    const CodeBytes last = bytes.last(size);
    return size == 1   ? std::int64_t{load<std::int8_t>(last, ByteOrder::little)}
           : size == 4 ? std::int64_t{load<std::int32_t>(last, ByteOrder::little)}
                       : load<std::int64_t>(last, ByteOrder::little);
  };
  Step step;
  if (x64_is_call(bytes)) {
    step.kind = Step::Kind::call;
    return step;
  }
  std::size_t i = 0;
  unsigned rex = 0;
  if (byte(0) >= 0x40 && byte(0) <= 0x4f) rex = byte(i++);
  const unsigned op = byte(i++);
  // je and jne, in both lengths; other jumps and returns only end a stretch.
  const bool near = op == 0x0f && byte(i) >= 0x80 && byte(i) <= 0x8f && bytes.size() == i + 5;
  const bool short_one = op >= 0x70 && op <= 0x7f && bytes.size() == i + 1;
  if (near || short_one) {
    const unsigned condition = (near ? byte(i) : op) & 0xf;
    step.kind = condition == 4 || condition == 5 ? Step::Kind::branch : Step::Kind::jump;
    step.when_equal = condition == 4;
    step.target = tail(near ? 4 : 1);
    return step;
  }
  const unsigned modrm = byte(i);
  if (op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xcc || (op == 0xff && (modrm >> 3 & 7) == 4)) {
    step.kind = Step::Kind::jump;
    return step;
  }
  if (op >= 0xb8 && op <= 0xbf && (bytes.size() == i + 4 || bytes.size() == i + 8)) {
    step = {.kind = Step::Kind::set, .reg = (op & 7) | (rex & 1) << 3, .constant = true};
    step.value = tail(bytes.size() == i + 4 ? 4 : 8);
    return step;
  }
  if (modrm > 0xff) return step;
  const unsigned mod = modrm >> 6, field = (modrm >> 3 & 7) | (rex & 4) << 1, rm = modrm & 7;
  const unsigned base = rm | (rex & 1) << 3;
  if (mod == 3) {
    // xor r, r; mov r, imm32
    if ((op == 0x31 || op == 0x33) && field == base)
      return {.kind = Step::Kind::set, .reg = base, .constant = true, .value = 0};
    if (op == 0xc7 && bytes.size() == i + 5)
      return {.kind = Step::Kind::set, .reg = base, .constant = true, .value = tail(4)};
    return step;
  }
  if (op != 0x89 && op != 0xc7) return step;
  step.kind = Step::Kind::store;
  step.reg = field;
  std::size_t at = i + 1;
  if (rm == 4) {
    // Only r12 needs this form for a plain register.
    if (byte(at++) != 0x24 || (rex & 1) == 0) return step;
  }
  const std::size_t immediate = op == 0xc7 ? 4 : 0;
  if (bytes.size() < at + immediate) return step;
  if (op == 0xc7) {
    step.constant = true;
    step.value = tail(4);
  }
  if (mod == 1 && bytes.size() == at + 1 + immediate)
    step.offset = load<std::int8_t>(bytes.subspan(at, 1), ByteOrder::little);
  else if (mod == 2 && bytes.size() == at + 4 + immediate)
    step.offset = load<std::int32_t>(bytes.subspan(at, 4), ByteOrder::little);
  if (base == 5) step.offset.reset(); // a variable of the frame
  return step;
}

// The number that the stretch of code from the instruction `first` on gives a continuation that it made.
std::optional<std::int32_t> state_from(CodeBytes code, std::span<const std::uint32_t> starts,
                                       std::size_t first, std::uint32_t state_offset) {
  bool made = false;
  std::optional<Step> known; // the register that was set last
  for (std::size_t i = first; i < starts.size() && i - first < max_suspension_steps; ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : code.size();
    const Step step = step_of(code.subspan(starts[i], end - starts[i]));
    switch (step.kind) {
    case Step::Kind::call:
      made = true;
      known.reset();
      break;
    case Step::Kind::jump:
    case Step::Kind::branch:
      return std::nullopt;
    case Step::Kind::set:
      known = step;
      break;
    case Step::Kind::store: {
      if (!made || step.offset != std::int64_t{state_offset}) break;
      // One store may write the flags behind the number, too.
      const bool by_register = !step.constant && known && known->reg == step.reg;
      if (!step.constant && !by_register) return std::nullopt;
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(step.constant ? step.value : known->value));
    }
    case Step::Kind::other:
      known.reset();
      break;
    }
  }
  return std::nullopt;
}

} // namespace

std::vector<SuspensionPlace> x64_suspensions(CodeBytes code, std::span<const std::uint32_t> starts,
                                             std::uint32_t state_offset) {
  std::vector<SuspensionPlace> places;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : code.size();
    if (starts[i] >= end || end > code.size()) continue;
    const Step step = step_of(code.subspan(starts[i], end - starts[i]));
    if (step.kind != Step::Kind::branch) continue;
    const std::int64_t target = static_cast<std::int64_t>(end) + (step.when_equal ? 0 : step.target);
    if (target < 0 || target > std::int64_t{UINT32_MAX}) continue;
    const auto first = std::ranges::lower_bound(starts, static_cast<std::uint32_t>(target));
    if (first == starts.end() || *first != static_cast<std::uint32_t>(target)) continue;
    if (const auto state =
            state_from(code, starts, static_cast<std::size_t>(first - starts.begin()), state_offset))
      places.push_back({starts[i], *state});
  }
  return places;
}

} // namespace clr
