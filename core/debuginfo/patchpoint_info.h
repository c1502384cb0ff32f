// The record of a tier-0 body about its frame, which allows an OSR body to take over in the middle of a loop.
// It lies in the debug info of the tier-0 body as a structure of the runtime, so its layout depends on the
// coding of the debug info.
// Source: dotnet/runtime src/coreclr/inc/patchpointinfo.h.
#pragma once

#include "core/target/target.h"

#include <optional>
#include <vector>

namespace clr {

struct PatchpointInfo {
  struct Local {
    std::int32_t offset = 0; // bytes from the tier-0 frame pointer
    bool exposed = false;    // the code took its address
  };
  std::vector<Local> locals;   // arguments and locals of the IL, then the special locals of the JIT
  std::int32_t frame_size = 0; // bytes of the tier-0 frame
  // Offsets of special values in that frame; nothing when the method has no such value. generic_context
  // counts from the caller's stack pointer.
  std::optional<std::int32_t> generic_context, kept_alive_this, security_cookie, monitor;
};

// Offsets of the fields on 64-bit targets; other targets have no on-stack replacement.
struct PatchpointLayout {
  std::uint32_t local_count = 0; // the other fields come after it
  std::uint32_t locals = 0;      // size of the fixed part

  static constexpr std::uint32_t max_fixed_bytes = 256;
};
constexpr PatchpointLayout net9_patchpoints{.local_count = 8, .locals = 32};
constexpr PatchpointLayout net10_patchpoints{.local_count = 16, .locals = 40};

// The largest believable number of locals of a method.
constexpr std::uint32_t max_patchpoint_locals = 1 << 17;

// Size in bytes of the structure at `address`. 1 read. Throws Error{memory_missing, corrupt}.
std::uint32_t patchpoint_info_size(const Target& target, Address address, const PatchpointLayout& layout);
// Reads the structure of `size` bytes at `address`. 2 reads. Throws Error{memory_missing, corrupt}.
PatchpointInfo read_patchpoint_info(const Target& target, Address address, std::uint32_t size,
                                    const PatchpointLayout& layout);

} // namespace clr
