// The section .eh_frame of managed code: how a debugger finds the caller of each instruction.
// Source: DWARF 4 section 6.4; DWARF for the Arm 64-bit Architecture (AADWARF64), section 4.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/dwarf/placed_code.h"

#include <array>
#include <bitset>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

// .debug_frame. One description for all ranges of a code where that is possible: LLDB looks for the one at a
// function's first instruction and uses no other within the function, so that funclets of their own would be
// unwound without.
class DwarfFrames {
public:
  explicit DwarfFrames(const Platform& platform);

  // Ranges with rows that have no DWARF (no return address, registers that the CPU lacks) are left out.
  void add(const PlacedCode& placed);
  const DwarfBytes& section() const { return out_; }

private:
  // x64: 0..16 and 17..32 (xmm); arm64: 0..32, 34 (signed return address) and 64..95 (v).
  static constexpr unsigned register_count = 96;

  struct Rule {
    enum class Kind : std::uint8_t { same, at_cfa, at_register, undefined, expression };
    Kind kind = Kind::same;
    unsigned reg = 0;        // at_register: the base
    std::int64_t offset = 0; // from the CFA or the base
    bool operator==(const Rule&) const = default;
  };
  // The rules at an instruction.
  struct State {
    RegisterOffset cfa;
    std::array<Rule, register_count> rules;
    std::bitset<register_count> ruled; // those that are not `same`
    bool signed_return_address = false;
  };

  // The encoded form of a list of rows, which many ranges share.
  struct Known {
    bool expressible = false, signal = false, stores_pc = false;
    std::uint32_t last_offset = 0;
    // Its instructions in the section, once they were the first of a description, and what holds behind them.
    std::size_t begin = 0, end = 0;
    RegisterOffset cfa;
    std::vector<std::pair<unsigned, Rule>> rules;
    bool signed_return_address = false;
  };
  struct CieKind {
    bool signal = false;        // the caller's pc is exact
    bool returns_to_pc = false; // the caller's pc has a rule of its own; else it is what lr was
    bool operator==(const CieKind&) const = default;
  };

  Known& known_of(const DebugUnwindRows& rows);
  CieKind kind_of(const DebugUnwindRange& range);
  unsigned return_column(CieKind kind) const;
  std::size_t write_cie(CieKind kind);
  bool is_expressible(const DebugUnwindRange& range, std::uint32_t code_size);
  bool is_expressible(const FrameLayout& layout) const;
  // A description of ranges [first, last) of `code`, all of one kind.
  void write_fde(const DebugCode& code, std::size_t first, std::size_t last, CieKind kind);
  void write_guessed_fde(const DebugCode& code, const DebugUnwindRange& range);
  // As write_row() for all of `rows`. The first of a description may be written already.
  void write_first_rows(const DebugUnwindRows& rows, CieKind kind);
  void write_rows(const DebugUnwindRows& rows, std::uint32_t at, CieKind kind);
  void write_row(const FrameLayout& layout, CieKind kind);
  void write_interrupted_row(const DebugUnwindRow& row);
  void write_jumping_row(const DebugUnwindRow& row, CieKind kind);
  void write_cfa(RegisterOffset cfa);
  void write_rule(unsigned reg, const Rule& rule);
  void advance(std::uint64_t delta);

  Platform platform_;
  DwarfBytes out_;
  std::array<std::optional<std::size_t>, 4> cies_; // by kind: offset in the section
  RegisterRoles roles_;
  State initial_, state_;
  FrameLayout entry_; // what initial_ says
  std::unordered_map<const DebugUnwindRows::List*, Known> known_;
};

} // namespace clr
