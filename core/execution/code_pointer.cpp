#include "core/execution/code_pointer.h"

#include "core/isa/architecture.h"

#include <fmt/format.h>

namespace clr {

CodePointers read_code_pointers(const Target& target) {
  const auto metadata = target.find_global("PlatformMetadata");
  const auto offset = target.find_offset("PlatformMetadata", "CodePointerFlags");
  const Architecture& cpu = architecture_of(target.platform().cpu);
  const std::uint8_t thumb = cpu.code_pointer_mark != 0 ? CodePointers::has_thumb_bit : 0;
  if (!metadata || !offset) return CodePointers(thumb);
  const Address at = *metadata + static_cast<Address>(*offset);
  const std::uint8_t flags = target.read_u8(at);
  const std::uint8_t possible =
      thumb | (cpu.strip_code_pointer != nullptr ? CodePointers::has_pointer_authentication : 0);
  if ((flags & ~possible) != 0 || (flags & thumb) != thumb)
    throw_corrupt(at, fmt::format("the marks {:#x} of code pointers, which this CPU does not have,", flags));
  return CodePointers(flags);
}

} // namespace clr
