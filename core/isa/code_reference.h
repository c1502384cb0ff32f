// Which address an instruction names: the target of a call or jump, the cell that it loads or calls through,
// a constant that may be code. What a disassembly annotates.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace clr {

struct CodeReference {
  enum class Kind : std::uint8_t {
    branch,   // a call or jump goes to `address`
    cell,     // `address` holds a pointer that is called, jumped to or loaded
    constant, // `address` is put into a register
  };
  Kind kind = Kind::branch;
  Address address = 0;
  bool transfers = false; // the instruction calls or jumps

  friend bool operator==(const CodeReference&, const CodeReference&) = default;
};

// Decodes the instructions of one method in their order: an address that is put together by neighbouring
// instructions (x64 `mov rax, ADDRESS; call rax`, arm64 `adrp; ldr`) is that of the last of them. Only
// neighbours count, since nothing is known of what instructions in between write. x64 and arm64; others have
// no references. No reads.
// Source: Intel SDM volume 2; Arm ARM, A64 base instructions.
class CodeReferences {
public:
  explicit CodeReferences(Cpu cpu) : cpu_(cpu) {}

  // What the instruction `bytes` at `at` names; nothing when it names nothing that is known.
  std::optional<CodeReference> next(Address at, std::span<const std::byte> bytes);

private:
  struct Known {
    unsigned reg = 0;
    std::uint64_t value = 0;
  };
  std::optional<CodeReference> next_x64(Address at, std::span<const std::byte> bytes,
                                        std::optional<Known> before);
  std::optional<CodeReference> next_arm64(Address at, std::uint32_t word, std::optional<Known> before);

  Cpu cpu_;
  std::optional<Known> known_; // the register that the last instruction set to an address
};

} // namespace clr
