#include "core/dwarf/frames.h"

#include "core/dwarf/choice.h"
#include "core/dwarf/guessed_frame.h"
#include "core/dwarf/jumped_frame.h"

#include <algorithm>
#include <dwarf.h>
#include <limits>

namespace clr {
namespace {

constexpr unsigned cie_version = 4;
constexpr std::uint64_t cie_id = 0xffff'ffff;
// Bytes, not slots: a slot that is not a multiple of anything needs no other form. Negative because the stack
// grows down.
constexpr std::int64_t data_alignment = -1;
constexpr unsigned largest_short_operand = 0x3f; // of the forms that hold an operand in their opcode
constexpr unsigned negate_ra_state = 0x2d;       // DW_CFA_AARCH64_negate_ra_state
// Ranges this close together have padding between them, which is never executed.
constexpr std::uint32_t max_padding = 64;
constexpr std::int64_t max_frame = std::int64_t{1} << 40;

bool is_sane(std::int64_t offset) {
  return offset > -max_frame && offset < max_frame;
}

} // namespace

DwarfFrames::DwarfFrames(const Platform& platform)
    : platform_(platform), out_(platform), roles_(register_roles(platform.cpu)) {
  // The rule at the entry of nearly every function; rows that say the same are not written.
  const auto word = static_cast<std::int64_t>(platform.pointer_size);
  initial_.cfa = {roles_.sp, roles_.return_address == roles_.pc ? word : 0};
  if (roles_.return_address == roles_.pc) {
    initial_.rules[roles_.pc] = {.kind = Rule::Kind::at_cfa, .offset = -word};
    initial_.ruled.set(roles_.pc);
    entry_.save(roles_.pc, {roles_.sp, 0});
  }
  entry_.cfa = initial_.cfa;
}

DwarfFrames::Known& DwarfFrames::known_of(const DebugUnwindRows& rows) {
  const auto [it, fresh] = known_.try_emplace(&rows.list());
  Known& known = it->second;
  if (!fresh || rows.empty()) return known;
  known.expressible = true;
  known.last_offset = rows.front().offset;
  for (const DebugUnwindRow& row : rows) {
    known.signal = known.signal || row.layout.interrupted;
    known.stores_pc = known.stores_pc || row.layout.find(roles_.pc) != nullptr;
    known.expressible = known.expressible && row.offset >= known.last_offset && is_expressible(row.layout);
    known.last_offset = row.offset;
  }
  return known;
}

DwarfFrames::CieKind DwarfFrames::kind_of(const DebugUnwindRange& range) {
  const Known& known = known_of(range.rows);
  return {range.interrupted || known.signal, known.stores_pc || roles_.return_address == roles_.pc};
}

unsigned DwarfFrames::return_column(CieKind kind) const {
  return kind.returns_to_pc ? roles_.pc : roles_.return_address;
}

std::size_t DwarfFrames::write_cie(CieKind kind) {
  auto& known = cies_[(kind.signal ? 1u : 0u) + (kind.returns_to_pc ? 2u : 0u)];
  if (known) return *known;
  known = out_.size();
  const std::size_t begin = out_.begin_unit();
  out_.u32(cie_id);
  out_.u8(cie_version);
  out_.string(kind.signal ? "zS" : "");
  out_.u8(platform_.pointer_size);
  out_.u8(0); // bytes of a segment selector
  out_.uleb(1);
  out_.sleb(data_alignment);
  out_.uleb(return_column(kind));
  if (kind.signal) out_.uleb(0); // bytes of augmentation data
  write_cfa(initial_.cfa);
  for (unsigned reg = 0; reg < register_count; ++reg)
    if (initial_.ruled.test(reg)) write_rule(reg, initial_.rules[reg]);
  out_.align(platform_.pointer_size);
  out_.end_unit(begin);
  return *known;
}

bool DwarfFrames::is_expressible(const FrameLayout& layout) const {
  const auto is_base = [&](const RegisterOffset& at) { return at.reg < roles_.count && is_sane(at.offset); };
  if (!is_base(layout.cfa)) return false;
  if (layout.stack_pointer_at && !is_base(*layout.stack_pointer_at)) return false;
  if (!std::ranges::all_of(layout.saved, [&](const SavedRegister& saved) { return is_base(saved.at); }))
    return false;
  // Where the return address is on the stack it has a place.
  return layout.outermost || roles_.return_address != roles_.pc || layout.find(roles_.pc) != nullptr;
}

bool DwarfFrames::is_expressible(const DebugUnwindRange& range, std::uint32_t code_size) {
  if (range.begin >= range.end || range.end > code_size || range.rows.empty()) return false;
  const Known& known = known_of(range.rows);
  return known.expressible && range.rows.front().offset == range.begin && known.last_offset < range.end;
}

void DwarfFrames::add(const PlacedCode& placed) {
  const std::vector<DebugUnwindRange>& ranges = placed.code->unwind;
  // Ranges that are written so far end here.
  std::uint32_t written = 0;
  for (std::size_t first = 0; first < ranges.size();) {
    const DebugUnwindRange& range = ranges[first];
    if (range.guessed) {
      write_guessed_fde(*placed.code, range);
      ++first;
      continue;
    }
    if (range.begin < written || !is_expressible(range, placed.size)) {
      ++first;
      continue;
    }
    const CieKind kind = kind_of(range);
    std::size_t last = first + 1;
    for (; last < ranges.size(); ++last) {
      const std::uint32_t end = ranges[last - 1].end;
      if (ranges[last].begin < end || ranges[last].begin - end > max_padding) break;
      if (kind_of(ranges[last]) != kind || !is_expressible(ranges[last], placed.size)) break;
    }
    if (out_.size() > max_debug_section) return;
    write_fde(*placed.code, first, last, kind);
    written = ranges[last - 1].end;
    first = last;
  }
}

void DwarfFrames::write_fde(const DebugCode& code, std::size_t first, std::size_t last, CieKind kind) {
  const std::size_t cie = write_cie(kind);
  const std::size_t begin = out_.begin_unit();
  const std::uint32_t from = code.unwind[first].begin;
  const std::uint32_t to = code.unwind[last - 1].end;
  out_.u32(cie);
  out_.word(code.start + from);
  out_.word(to - from);
  if (kind.signal) out_.uleb(0);
  write_first_rows(code.unwind[first].rows, kind);
  std::uint32_t at = code.unwind[first].rows.back().offset;
  bool exact = code.unwind[first].exact;
  for (std::size_t i = first + 1; i < last; ++i) {
    exact = exact && code.unwind[i].exact;
    write_rows(code.unwind[i].rows, at, kind);
    at = code.unwind[i].rows.back().offset;
  }
  // At the top of a stack LLDB (x86 only) believes these rows as they stand if there are several, the first
  // and the last being those of a function's entry: then epilogues are described, and it does not read the
  // code. Such a row behind the last instruction holds nowhere. Code of several ranges must not be amended
  // either: LLDB would go on behind the first epilogue with the rules of the last funclet.
  if ((exact || last - first > 1) && platform_.cpu == Cpu::x64) {
    advance(to - at);
    write_row(entry_, kind);
  }
  out_.align(platform_.pointer_size);
  out_.end_unit(begin);
}

void DwarfFrames::write_guessed_fde(const DebugCode& code, const DebugUnwindRange& range) {
  if (!can_guess_frames(platform_.cpu) || range.end > code.size || range.end - range.begin <= 1) return;
  const std::size_t cie = write_cie({false, true});
  const std::size_t begin = out_.begin_unit();
  out_.u32(cie);
  out_.word(code.start + range.begin);
  out_.word(range.end - range.begin);
  // Between rows of a function's entry, as above: else LLDB would read all of the code to find better ones.
  advance(1);
  out_.u8(DW_CFA_def_cfa_expression);
  out_.block(guessed_cfa(platform_).bytes());
  out_.u8(DW_CFA_val_expression);
  out_.uleb(x64_register::rbp);
  out_.block(guessed_frame_pointer(platform_).bytes());
  advance(range.end - range.begin - 1);
  write_cfa(initial_.cfa);
  out_.align(platform_.pointer_size);
  out_.end_unit(begin);
}

void DwarfFrames::write_first_rows(const DebugUnwindRows& rows, CieKind kind) {
  Known& known = known_of(rows);
  if (known.end != 0 && !kind.signal) {
    out_.append_copy(known.begin, known.end - known.begin);
    state_.cfa = known.cfa;
    state_.ruled.reset();
    for (const auto& [reg, rule] : known.rules) {
      state_.ruled.set(reg);
      state_.rules[reg] = rule;
    }
    state_.signed_return_address = known.signed_return_address;
    return;
  }
  state_.cfa = initial_.cfa;
  state_.ruled = initial_.ruled; // the rules of others are not looked at
  state_.rules[roles_.pc] = initial_.rules[roles_.pc];
  state_.signed_return_address = false;
  known.begin = out_.size();
  write_rows(rows, rows.front().offset, kind);
  known.end = out_.size();
  known.cfa = state_.cfa;
  known.signed_return_address = state_.signed_return_address;
  known.rules.clear();
  for (unsigned reg = 0; reg < register_count; ++reg)
    if (state_.ruled.test(reg)) known.rules.emplace_back(reg, state_.rules[reg]);
}

void DwarfFrames::write_rows(const DebugUnwindRows& rows, std::uint32_t at, CieKind kind) {
  for (const DebugUnwindRow& row : rows) {
    advance(row.offset - at);
    at = row.offset;
    write_row(row.layout, kind);
    if (row.interruption) write_interrupted_row(row);
    if (row.jumps) write_jumping_row(row, kind);
  }
}

void DwarfFrames::advance(std::uint64_t delta) {
  if (delta == 0) return;
  if (delta <= largest_short_operand) {
    out_.u8(DW_CFA_advance_loc | delta);
  } else if (delta <= std::numeric_limits<std::uint8_t>::max()) {
    out_.u8(DW_CFA_advance_loc1);
    out_.u8(delta);
  } else if (delta <= std::numeric_limits<std::uint16_t>::max()) {
    out_.u8(DW_CFA_advance_loc2);
    out_.u16(delta);
  } else {
    out_.u8(DW_CFA_advance_loc4);
    out_.u32(delta);
  }
}

void DwarfFrames::write_row(const FrameLayout& layout, CieKind kind) {
  std::bitset<register_count> wanted;
  const auto rule = [&](unsigned reg, const Rule& next) {
    wanted.set(reg);
    if (state_.ruled.test(reg) && state_.rules[reg] == next) return;
    state_.rules[reg] = next;
    write_rule(reg, next);
  };
  const auto place = [&](RegisterOffset at) {
    return at.reg == layout.cfa.reg
               ? Rule{.kind = Rule::Kind::at_cfa, .offset = at.offset - layout.cfa.offset}
               : Rule{Rule::Kind::at_register, at.reg, at.offset};
  };
  if (layout.cfa != state_.cfa) write_cfa(layout.cfa);
  for (const SavedRegister& saved : layout.saved) {
    const bool known = saved.reg < roles_.count || is_vector_register(platform_.cpu, saved.reg);
    // The outermost function has no return address, whatever lies where it would be.
    if (known && !(layout.outermost && saved.reg == return_column(kind))) rule(saved.reg, place(saved.at));
  }
  if (layout.stack_pointer_at) rule(roles_.sp, place(*layout.stack_pointer_at));
  if (layout.outermost) rule(return_column(kind), {.kind = Rule::Kind::undefined});
  // Not DW_CFA_restore: LLDB 14 to 16 keep the old rule after it where the CIE has none.
  const auto gone = state_.ruled & ~wanted;
  for (unsigned reg = 0; reg < register_count && gone.any(); ++reg)
    if (gone.test(reg)) write_rule(reg, {});
  // All registers are live in interrupted code, also those that a call would destroy.
  for (unsigned reg = 0; reg < roles_.count && kind.signal; ++reg)
    if (!wanted.test(reg) && !gone.test(reg) && reg != roles_.sp && reg != roles_.pc) write_rule(reg, {});
  if (layout.signed_return_address != state_.signed_return_address) out_.u8(negate_ra_state);
  state_.cfa = layout.cfa;
  state_.ruled = wanted;
  state_.signed_return_address = layout.signed_return_address;
}

// Behind write_row(): what counts from registers that are not what they were, and registers that still hold
// what they held when the function was called.
void DwarfFrames::write_interrupted_row(const DebugUnwindRow& row) {
  const DebugInterruption& interruption = *row.interruption;
  const FrameLayout& layout = row.layout;
  const auto needs = [&](unsigned reg) {
    return interruption.registers.known(reg) && !is_restored(interruption, reg);
  };
  const auto value = [&](unsigned reg, std::int64_t offset) {
    out_.block(interrupted_value(platform_, interruption, reg, offset).bytes());
  };
  if (needs(layout.cfa.reg)) {
    out_.u8(DW_CFA_def_cfa_expression);
    value(layout.cfa.reg, layout.cfa.offset);
    state_.cfa.reg = register_count; // the next row says it anew
  }
  const auto expression = [&](unsigned operation, unsigned reg, RegisterOffset at) {
    out_.u8(operation);
    out_.uleb(reg);
    value(at.reg, at.offset);
    state_.ruled.set(reg);
    state_.rules[reg] = {.kind = Rule::Kind::expression};
  };
  for (const SavedRegister& saved : layout.saved)
    if (saved.at.reg != layout.cfa.reg && needs(saved.at.reg) && saved.reg < roles_.count)
      expression(DW_CFA_expression, saved.reg, saved.at);
  for (unsigned reg = 0; reg < roles_.count; ++reg) {
    const bool kept = is_callee_saved(platform_.cpu, reg) || reg == roles_.return_address;
    if (kept && needs(reg) && layout.find(reg) == nullptr) expression(DW_CFA_val_expression, reg, {reg, 0});
  }
}

// Behind write_row(): the caller's stack pointer is the CFA. Registers that are not known of every caller
// have no value.
void DwarfFrames::write_jumping_row(const DebugUnwindRow& row, CieKind kind) {
  const FrameLayout& layout = row.layout;
  const FrameJumps& jumps = *row.jumps;
  const auto value = [&](unsigned of_caller, const DwarfBytes& other) {
    out_.block(jumped_value(platform_, jumps, of_caller, other).bytes());
  };
  out_.u8(DW_CFA_def_cfa_expression);
  DwarfBytes cfa(platform_);
  write_register_value(cfa, layout.cfa.reg, layout.cfa.offset);
  value(roles_.sp, cfa);
  state_.cfa.reg = register_count; // the next row says it anew
  const unsigned returns_to = return_column(kind);
  for (unsigned reg = 0; reg < roles_.count; ++reg) {
    if (reg != returns_to && !is_callee_saved(platform_.cpu, reg)) continue;
    const unsigned of_caller = reg == returns_to ? roles_.pc : reg;
    state_.ruled.set(reg);
    state_.rules[reg] = {.kind = Rule::Kind::expression};
    if (!std::ranges::all_of(jumps, [&](const FrameJump& jump) { return jump.caller.known(of_caller); })) {
      write_rule(reg, {.kind = Rule::Kind::undefined});
      continue;
    }
    DwarfBytes other(platform_);
    const SavedRegister* const saved = layout.find(reg);
    if (reg == returns_to && layout.outermost) {
      write_register_constant(other, platform_, 0); // no address returns there
    } else {
      write_register_value(other, saved != nullptr ? saved->at.reg : reg,
                           saved != nullptr ? saved->at.offset : 0);
      if (saved != nullptr) other.u8(DW_OP_deref);
    }
    out_.u8(DW_CFA_val_expression);
    out_.uleb(reg);
    value(of_caller, other);
  }
}

void DwarfFrames::write_cfa(RegisterOffset cfa) {
  if (cfa.offset >= 0) {
    out_.u8(DW_CFA_def_cfa);
    out_.uleb(cfa.reg);
    out_.uleb(static_cast<std::uint64_t>(cfa.offset));
  } else {
    out_.u8(DW_CFA_def_cfa_sf);
    out_.uleb(cfa.reg);
    out_.sleb(cfa.offset / data_alignment);
  }
}

void DwarfFrames::write_rule(unsigned reg, const Rule& rule) {
  switch (rule.kind) {
  case Rule::Kind::same:
    out_.u8(DW_CFA_same_value);
    out_.uleb(reg);
    return;
  case Rule::Kind::undefined:
    out_.u8(DW_CFA_undefined);
    out_.uleb(reg);
    return;
  case Rule::Kind::at_cfa:
    if (rule.offset > 0) {
      out_.u8(DW_CFA_offset_extended_sf);
      out_.uleb(reg);
      out_.sleb(rule.offset / data_alignment);
    } else if (reg <= largest_short_operand) {
      out_.u8(DW_CFA_offset | reg);
      out_.uleb(static_cast<std::uint64_t>(rule.offset / data_alignment));
    } else {
      out_.u8(DW_CFA_offset_extended);
      out_.uleb(reg);
      out_.uleb(static_cast<std::uint64_t>(rule.offset / data_alignment));
    }
    return;
  case Rule::Kind::at_register: {
    DwarfBytes expression(platform_);
    write_register_value(expression, rule.reg, rule.offset);
    out_.u8(DW_CFA_expression);
    out_.uleb(reg);
    out_.block(expression.bytes());
    return;
  }
  case Rule::Kind::expression:
    return; // write_interrupted_row()
  }
}

} // namespace clr
