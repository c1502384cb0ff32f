#include "core/execution/code_pointer.h"

#include "core/isa/architecture.h"

namespace clr {

CodePointers read_code_pointers(const Target& target) {
  const auto metadata = target.find_global("PlatformMetadata");
  const auto offset = target.find_offset("PlatformMetadata", "CodePointerFlags");
  if (!metadata || !offset)
    return CodePointers(
        architecture_of(target.platform().cpu).code_pointer_mark != 0 ? CodePointers::has_thumb_bit : 0);
  return CodePointers(target.read_u8(*metadata + static_cast<Address>(*offset)));
}

} // namespace clr
