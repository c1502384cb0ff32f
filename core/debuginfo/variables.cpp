#include "core/debuginfo/variables.h"

#include "core/isa/architecture.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

namespace clr {
namespace {

// The nibbles of the shortest entry: start, length, number, type and one register.
constexpr std::size_t nibbles_per_variable = 5;
constexpr std::int32_t x86_word = 4;

constexpr std::array<std::string_view, 11> home_names{"reg",         "reg_byref", "reg_fp",    "stack",
                                                      "stack_byref", "reg_reg",   "reg_stack", "stack_reg",
                                                      "stack2",      "fp_stack",  "fixed_va"};

std::int64_t lowest_number(VariablesCoding coding) {
  switch (coding) {
  case VariablesCoding::from_4:
    return -4;
  case VariablesCoding::from_5:
    return -5;
  case VariablesCoding::number_first:
    return -6;
  }
  return 0;
}

class VariableReader {
public:
  VariableReader(const DebugInfoChunk& chunk, VariablesCoding coding, bool x86)
      : chunk_(chunk), in_(chunk), coding_(coding), x86_(x86) {}

  std::vector<debuginfo::Variable> all() {
    const std::uint32_t count = in_.u32();
    if (count > max_variable_entries || count > in_.nibbles_left() / nibbles_per_variable)
      throw_corrupt(chunk_.address,
                    fmt::format("{} variables in {} bytes of debug info", count, chunk_.bytes.size()));
    std::vector<debuginfo::Variable> variables(count);
    for (debuginfo::Variable& variable : variables) read(variable);
    return variables;
  }

private:
  void read(debuginfo::Variable& variable) {
    const bool number_first = coding_ == VariablesCoding::number_first;
    if (number_first) variable.number = number();
    variable.begin = in_.u32();
    if (number_first && variable.number == debuginfo::Variable::call_return) {
      variable.call_il = in_.u32();
      variable.end = checked(std::uint64_t{variable.begin} + 1);
    } else {
      variable.end = checked(std::uint64_t{variable.begin} + in_.u32());
    }
    if (!number_first) variable.number = number();
    variable.location = location();
  }

  std::int32_t number() {
    const std::int64_t value = in_.u32() + lowest_number(coding_);
    if (value > std::numeric_limits<std::int32_t>::max())
      throw_corrupt(chunk_.address, fmt::format("variable {} in debug info", value));
    return static_cast<std::int32_t>(value);
  }

  std::uint32_t checked(std::uint64_t offset) const {
    if (offset > 0xFFFF'FFFFu) throw_corrupt(chunk_.address, "an offset of more than 32 bits in debug info");
    return static_cast<std::uint32_t>(offset);
  }

  std::int32_t stack_offset() {
    const std::int64_t offset = std::int64_t{in_.i32()} * (x86_ ? x86_word : 1);
    if (offset < std::numeric_limits<std::int32_t>::min() ||
        offset > std::numeric_limits<std::int32_t>::max())
      throw_corrupt(chunk_.address, "a stack offset of more than 32 bits in debug info");
    return static_cast<std::int32_t>(offset);
  }

  VariableLocation location() {
    const std::uint32_t type = in_.u32();
    if (type >= home_names.size())
      throw_corrupt(chunk_.address, fmt::format("location type {} in debug info", type));
    VariableLocation location{.home = static_cast<VariableHome>(type)};
    switch (location.home) {
    case VariableHome::reg:
    case VariableHome::reg_byref:
    case VariableHome::reg_fp:
      location.reg = in_.u32();
      break;
    case VariableHome::stack:
    case VariableHome::stack_byref:
    case VariableHome::stack2:
      location.base = in_.u32();
      location.offset = stack_offset();
      break;
    case VariableHome::reg_reg:
      location.reg = in_.u32();
      location.reg2 = in_.u32();
      break;
    case VariableHome::reg_stack:
      location.reg = in_.u32();
      location.base = in_.u32();
      location.offset = stack_offset();
      break;
    case VariableHome::stack_reg:
      location.offset = stack_offset();
      location.base = in_.u32();
      location.reg = in_.u32();
      break;
    case VariableHome::fp_stack:
    case VariableHome::fixed_va:
      location.index = in_.u32();
      break;
    }
    return location;
  }

  const DebugInfoChunk& chunk_;
  NibbleReader in_;
  VariablesCoding coding_;
  bool x86_;
};

} // namespace

std::string_view to_string(VariableHome home) {
  return home_names[static_cast<std::size_t>(home)];
}

std::vector<debuginfo::Variable> decode_variables(const DebugInfoChunk& chunk, VariablesCoding coding,
                                                  bool x86) {
  if (chunk.bytes.empty()) return {};
  return VariableReader(chunk, coding, x86).all();
}

std::string debug_register_name(Cpu cpu, std::uint32_t number) {
  const auto names = architecture_of(cpu).jit.names;
  if (number < names.size()) return std::string(names[number]);
  // The stack pointer as it is outside of calls follows the last register and a number that is none.
  return !names.empty() && number == names.size() + 1 ? "ambient_sp" : "";
}

} // namespace clr
