#include "core/execution/code_pointer.h"

namespace clr {

CodePointers read_code_pointers(const Target& target) {
  const auto metadata = target.find_global("PlatformMetadata");
  const auto offset = target.find_offset("PlatformMetadata", "CodePointerFlags");
  if (!metadata || !offset)
    return CodePointers(target.platform().cpu == Cpu::arm ? CodePointers::has_thumb_bit : 0);
  return CodePointers(target.read_u8(*metadata + static_cast<Address>(*offset)));
}

} // namespace clr
