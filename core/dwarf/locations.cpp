#include "core/dwarf/locations.h"

#include "core/dwarf/choice.h"

#include <algorithm>
#include <dwarf.h>
#include <limits>

namespace clr {
namespace {

constexpr std::size_t max_path = 64;

class ExpressionWriter {
public:
  // With `from_base` all registers of the stack are the frame base's.
  ExpressionWriter(const Platform& platform, const DebugInterruption* interruption, bool from_base = false)
      : platform_(platform), interruption_(interruption), from_base_(from_base), out_(platform) {}

  bool write(const DebugVariableRange& range) {
    if (range.path.size() > max_path) return false;
    return range.path.empty() ? place(range.location) : field(range);
  }
  const DwarfBytes& bytes() const { return out_; }

private:
  bool place(const VariableLocation& home) {
    switch (home.home) {
    case VariableHome::reg:
      return in_register(dwarf_of_jit_register(platform_.cpu, home.reg));
    case VariableHome::reg_fp:
      return in_register(dwarf_of_jit_vector_register(platform_.cpu, home.reg));
    case VariableHome::reg_byref:
      return at(home.reg, 0);
    case VariableHome::stack:
    case VariableHome::stack2:
      return at(home.base, home.offset);
    case VariableHome::stack_byref:
      return at(home.base, home.offset) && deref();
    case VariableHome::reg_reg:
      return in_register(dwarf_of_jit_register(platform_.cpu, home.reg)) && piece() &&
             in_register(dwarf_of_jit_register(platform_.cpu, home.reg2)) && piece();
    case VariableHome::reg_stack:
      return in_register(dwarf_of_jit_register(platform_.cpu, home.reg)) && piece() &&
             at(home.base, home.offset) && piece();
    case VariableHome::stack_reg:
      return at(home.base, home.offset) && piece() &&
             in_register(dwarf_of_jit_register(platform_.cpu, home.reg)) && piece();
    case VariableHome::fp_stack:
    case VariableHome::fixed_va:
      return false;
    }
    return false;
  }

  // The value that the pointer in `range.location` leads to.
  bool field(const DebugVariableRange& range) {
    const VariableLocation& home = range.location;
    if (home.home == VariableHome::reg) {
      if (!at(home.reg, range.path[0])) return false;
    } else if (home.home == VariableHome::stack || home.home == VariableHome::reg_byref ||
               home.home == VariableHome::stack_byref) {
      if (!place(home)) return false;
      deref();
      add(range.path[0]);
    } else {
      return false;
    }
    for (std::size_t i = 1; i < range.path.size(); ++i) {
      deref();
      add(range.path[i]);
    }
    return true;
  }

  bool in_register(std::optional<unsigned> number) {
    if (!number) return false;
    if (is_known(*number)) {
      out_.append(interrupted_value(platform_, *interruption_, *number, 0).bytes());
      out_.u8(DW_OP_stack_value);
    } else if (*number < short_registers) {
      out_.u8(DW_OP_reg0 + *number);
    } else {
      out_.u8(DW_OP_regx);
      out_.uleb(*number);
    }
    return true;
  }
  bool at(std::uint32_t base, std::int64_t offset) {
    const auto number = dwarf_of_jit_register(platform_.cpu, base);
    if (!number) return false;
    if (from_base_) {
      out_.u8(DW_OP_fbreg);
      out_.sleb(offset);
    } else if (is_known(*number)) {
      out_.append(interrupted_value(platform_, *interruption_, *number, offset).bytes());
    } else {
      write_register_value(out_, *number, offset);
    }
    return true;
  }
  bool deref() {
    out_.u8(DW_OP_deref);
    return true;
  }
  void add(std::uint32_t offset) {
    if (offset == 0) return;
    out_.u8(DW_OP_plus_uconst);
    out_.uleb(offset);
  }
  bool piece() {
    out_.u8(DW_OP_piece);
    out_.uleb(platform_.pointer_size);
    return true;
  }

  // The debugger's own value of the register may be another.
  bool is_known(unsigned number) const {
    return interruption_ != nullptr && interruption_->registers.known(number) &&
           !is_restored(*interruption_, number);
  }

  Platform platform_;
  const DebugInterruption* interruption_;
  bool from_base_;
  DwarfBytes out_;
};

// What the places of `variable` count from, when it has one place on the stack in one range.
std::optional<FrameBase> base_of(const DebugVariable& variable, const PlacedCode& placed,
                                 const Platform& platform) {
  if (variable.ranges.size() != 1 || !placed.code->interruptions.empty()) return std::nullopt;
  const DebugVariableRange& range = variable.ranges.front();
  const VariableLocation& home = range.location;
  const bool on_stack = home.home == VariableHome::stack || home.home == VariableHome::stack2 ||
                        home.home == VariableHome::stack_byref;
  if (!on_stack || range.begin >= range.end || range.end > placed.size || range.path.size() > max_path ||
      !dwarf_of_jit_register(platform.cpu, home.base))
    return std::nullopt;
  return FrameBase{.begin = range.begin, .end = range.end, .base = home.base};
}

struct Place {
  std::uint32_t begin = 0, end = 0; // bytes from the start of the code
  const DebugVariableRange* range = nullptr;
  const DebugInterruption* interruption = nullptr;
};

// `places` with what holds at an interrupted instruction there and at the byte before it. That of a
// function's entry has places of its own.
void interrupt_places(std::vector<Place>& places, const DebugInterruption& interruption, bool before_entry) {
  const std::uint32_t at = interruption.offset, first = at == 0 ? 0 : at - 1, end = at + 1;
  const std::uint32_t told = before_entry ? first : at;
  const auto holds = std::ranges::find_if(places, [&](const Place& place) {
    return place.interruption == nullptr && place.begin <= told && told < place.end;
  });
  std::vector<Place> all;
  const auto add = [&](Place place) {
    if (place.begin < place.end) all.push_back(place);
  };
  for (const Place& place : places) {
    Place part = place;
    part.end = std::min(place.end, first);
    add(part);
  }
  if (holds != places.end()) add({first, end, holds->range, &interruption});
  for (const Place& place : places) {
    Place part = place;
    part.begin = std::max(place.begin, end);
    add(part);
  }
  places = std::move(all);
}

} // namespace

std::optional<DwarfBytes> location_expression(const DebugVariableRange& range, const Platform& platform,
                                              const DebugInterruption* interruption) {
  ExpressionWriter writer(platform, interruption);
  if (!writer.write(range)) return std::nullopt;
  return writer.bytes();
}

std::optional<FrameBase> frame_base_of(const PlacedCode& placed, const Platform& platform) {
  constexpr std::size_t max_bases = 16; // that are counted: a function has one or two
  std::vector<std::pair<FrameBase, std::size_t>> counted;
  for (const DebugVariable& variable : placed.code->variables) {
    const std::optional<FrameBase> base = base_of(variable, placed, platform);
    if (!base) continue;
    const auto known = std::ranges::find(counted, *base, &std::pair<FrameBase, std::size_t>::first);
    if (known != counted.end())
      ++known->second;
    else if (counted.size() < max_bases)
      counted.emplace_back(*base, 1);
  }
  const auto most = std::ranges::max_element(counted, {}, &std::pair<FrameBase, std::size_t>::second);
  if (most == counted.end() || most->second < 2) return std::nullopt;
  return most->first;
}

DwarfBytes static_location(const DebugField& field, const Platform& platform) {
  DwarfBytes out(platform);
  out.u8(DW_OP_addr);
  out.word(field.static_address.value_or(0));
  if (field.static_boxed) {
    out.u8(DW_OP_deref);
    out.u8(DW_OP_plus_uconst);
    out.uleb(platform.pointer_size); // the box's method table
  }
  return out;
}

VariablePlaces write_places(const DebugVariable& variable, const PlacedCode& placed, const Platform& platform,
                            DwarfBytes& debug_loc, const std::optional<FrameBase>& frame_base) {
  const DebugCode& code = *placed.code;
  if (frame_base && base_of(variable, placed, platform) == frame_base) {
    ExpressionWriter writer(platform, nullptr, true);
    if (writer.write(variable.ranges.front())) return {.everywhere = writer.bytes()};
  }
  VariablePlaces places;
  const auto write = [&](std::uint32_t begin, std::uint32_t end,
                         const std::optional<DwarfBytes>& expression) {
    if (!expression || expression->size() > std::numeric_limits<std::uint16_t>::max()) return false;
    if (debug_loc.size() > max_debug_section) return false;
    if (!places.list) places.list = debug_loc.size();
    debug_loc.word(code.start + begin);
    debug_loc.word(code.start + end);
    debug_loc.u16(expression->size());
    debug_loc.append(expression->bytes());
    return true;
  };
  std::vector<Place> interrupted;
  std::uint32_t covered = 0;
  for (const DebugVariableRange& range : variable.ranges) {
    if (range.begin >= range.end || range.begin < covered || range.end > placed.size) continue;
    if (!code.interruptions.empty()) {
      interrupted.push_back({range.begin, range.end, &range, nullptr});
      covered = range.end;
      continue;
    }
    const auto expression = location_expression(range, platform);
    if (expression && range.begin == 0 && range.end == placed.size) return {.everywhere = expression};
    if (write(range.begin, range.end, expression)) covered = range.end;
  }
  for (const auto& interruption : code.interruptions)
    interrupt_places(interrupted, *interruption, code.before_entry);
  for (const Place& place : interrupted)
    write(place.begin, place.end, location_expression(*place.range, platform, place.interruption));
  if (places.list) {
    debug_loc.word(0);
    debug_loc.word(0);
  }
  return places;
}

VariablePlaces write_places(const FrameBase& frame_base, const PlacedCode& placed, const Platform& platform,
                            DwarfBytes& debug_loc) {
  DebugVariable base;
  base.ranges.push_back({.begin = frame_base.begin,
                         .end = frame_base.end,
                         .location = {.home = VariableHome::stack, .base = frame_base.base, .offset = 0}});
  return write_places(base, placed, platform, debug_loc);
}

} // namespace clr
