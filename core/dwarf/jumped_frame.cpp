#include "core/dwarf/jumped_frame.h"

#include "core/dwarf/choice.h"

#include <dwarf.h>

namespace clr {
namespace {

// Leaves a value that is not 0 where `operation` is true of the stack pointer and `value`.
DwarfBytes compares(const Platform& platform, Address value, unsigned operation) {
  DwarfBytes to(platform);
  write_register_value(to, register_roles(platform.cpu).sp, 0);
  to.u8(DW_OP_constu);
  to.uleb(value);
  to.u8(operation);
  return to;
}

} // namespace

DwarfBytes jumped_value(const Platform& platform, std::span<const FrameJump> jumps, unsigned reg,
                        const DwarfBytes& other) {
  if (jumps.empty()) return other;
  if (jumps.size() == 1) {
    DwarfBytes known(platform);
    write_register_constant(known, platform, jumps.front().caller.get(reg));
    return choice(platform, compares(platform, jumps.front().sp, DW_OP_eq), known, other);
  }
  // DW_OP_lt has a sign, but no stack lies on both sides of the middle of the address space.
  const std::size_t middle = jumps.size() / 2;
  return choice(platform, compares(platform, jumps[middle].sp, DW_OP_lt),
                jumped_value(platform, jumps.first(middle), reg, other),
                jumped_value(platform, jumps.subspan(middle), reg, other));
}

} // namespace clr
