// Finds the native code in which a variable's name means something, and the place of its value there.
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/debuginfo/variables.h"
#include "core/dwarf/debug_module.h"
#include "core/execution/execution_manager.h"
#include "core/metadata/portable_pdb.h"

#include <cstdint>
#include <span>
#include <vector>

namespace clr {

// Native offsets [begin, end) from the start of a method, its hot and cold parts linearised.
struct NativeRange {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const NativeRange&, const NativeRange&) = default;
};

// The code of a method after its prologues, ascending and disjoint: within a prologue no variable is where it
// belongs. `stretches` are those of its map, `entries` the offsets of its functions (main body and funclets),
// `size` its bytes. Empty when the method has no map. All of a method whose map has nothing but prologue and
// epilogue: optimised code of a few instructions, where variables stay in the registers that they came in.
// Cost: linear.
std::vector<NativeRange> code_after_prologues(const std::vector<IlStretch>& stretches,
                                              const std::vector<std::uint32_t>& entries, std::uint32_t size);

// The code whose IL lies in `scope`, neighbours joined. Code without IL between two such stretches belongs to
// them. Ascending and disjoint. Cost: linear.
std::vector<NativeRange> code_of_scope(const std::vector<IlStretch>& stretches, const IlRange& scope,
                                       std::uint32_t size);

// The offsets that both have. Both ascend and are disjoint, and so is the result.
std::vector<NativeRange> intersect(const std::vector<NativeRange>& a, const std::vector<NativeRange>& b);

// The entries of variable `number`, of those of a body, which ascend by number. Valid as long as these.
std::span<const debuginfo::Variable> entries_of(const std::vector<debuginfo::Variable>& variables,
                                                std::int32_t number);

// The homes of a variable within `where`, ascending and disjoint: of two that overlap the later one begins
// where the earlier one ends. `entries` are those of the variable, `where` and `code` ascend and are
// disjoint. Not more homes than entries and ranges of `where` together; and no more steps, but for a
// logarithm. A home on the stack that no other one follows holds for the first byte behind it, too, if `code`
// (code_after_prologues) has that byte: no instruction has run there that could change it. Where a call is
// the last instruction of the home, that byte is the one that the call returns to, by which LLDB 14 looks up
// the variables of a caller; later ones take the last byte of the call.
std::vector<DebugVariableRange> homes_of(std::span<const debuginfo::Variable> entries,
                                         const std::vector<NativeRange>& where,
                                         const std::vector<NativeRange>& code);

// The parts of `ranges`, which ascend and are disjoint, that lie in `part`, or in the first byte behind it if
// `code` has that byte, as above. Cost: a step for each of them, and a logarithm.
std::vector<DebugVariableRange> within(const std::vector<DebugVariableRange>& ranges, const NativeRange& part,
                                       const std::vector<NativeRange>& code);

// The offsets of a method's functions, its hot and cold parts linearised.
std::vector<std::uint32_t> offsets_of(const std::vector<ExecutionManager::Function>& functions,
                                      const MethodRegions& regions);

} // namespace clr
