// The address that an instruction names: the target of a call or jump, the cell that it loads or calls
// through, a constant that may be code. A disassembly is annotated with it.
#pragma once

#include "core/isa/architecture.h"

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

// A register that holds an address, numbered as instructions encode it.
struct KnownRegister {
  unsigned reg = 0;
  std::uint64_t value = 0;
};

// Decodes the instructions of one method in their order: an address that is put together by neighbouring
// instructions (x64 `mov rax, ADDRESS; call rax`, arm64 `adrp; ldr`) is that of the last of them. Only
// neighbours count, since nothing is known of what instructions in between write. No reads.
class CodeReferences {
public:
  // For a CPU whose instructions are not decoded there are no references.
  explicit CodeReferences(Cpu cpu) : decode_(architecture_of(cpu).code_reference) {}

  // The address that the instruction `bytes` at `at` names; nothing when it names none that is known.
  std::optional<CodeReference> next(Address at, std::span<const std::byte> bytes) {
    return decode_ == nullptr ? std::nullopt : decode_(at, bytes, known_);
  }

private:
  decltype(Architecture::code_reference) decode_;
  std::optional<KnownRegister> known_; // set by the last instruction
};

} // namespace clr
