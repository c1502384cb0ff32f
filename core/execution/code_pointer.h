// Converts code pointers to addresses by removing the marks that some CPUs keep in them.
// Source: dotnet/runtime docs/design/datacontracts/PlatformMetadata.md.
#pragma once

#include "core/target/target.h"

namespace clr {

class CodePointers {
public:
  // CodePointerFlags of PlatformMetadata: 1 = Thumb bit, 2 = pointer authentication.
  static constexpr std::uint8_t has_thumb_bit = 1, has_pointer_authentication = 2;

  CodePointers() = default;
  explicit CodePointers(std::uint8_t flags) : flags_(flags) {}

  bool thumb() const { return (flags_ & has_thumb_bit) != 0; }
  // The address of the code.
  Address address(Address code_pointer) const {
    if ((flags_ & has_pointer_authentication) != 0) code_pointer &= user_address_bits;
    return thumb() ? code_pointer & ~Address{1} : code_pointer;
  }

private:
  // Pointer authentication codes occupy the bits that an address in user space does not use.
  static constexpr Address user_address_bits = (Address{1} << 48) - 1;
  std::uint8_t flags_ = 0;
};

// Reads the flags of `target`; no flags when it has no PlatformMetadata. 1 read. Throws
// Error{memory_missing}; Error{corrupt} for flags that its CPU cannot have.
CodePointers read_code_pointers(const Target& target);

} // namespace clr
