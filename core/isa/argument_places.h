// Where the arguments of a call lie: in the registers that a helper of the runtime has stored, or on the
// stack. Source: dotnet/runtime src/coreclr/vm/callingconvention.h (ArgIterator).
#pragma once

#include "core/isa/architecture.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace clr {

// What the calling convention and the collector must know of one argument.
struct ArgumentShape {
  struct Reference {
    std::uint32_t offset = 0; // bytes from the start of the argument
    bool interior = false;
    friend bool operator==(const Reference&, const Reference&) = default;
  };
  enum class Kind : std::uint8_t { integer, real, structure }; // `integer` also for references
  Kind kind = Kind::integer;
  std::uint32_t size = 0; // bytes
  std::vector<Reference> references;
  // Of structures. A bit for each of the first two words that holds real numbers alone.
  unsigned real_words = 0;
  unsigned equal_reals = 0; // it is nothing but so many real numbers of one size, 1 to 4; 0: it is not
  bool memory_only = false; // a member does not lie where its size asks for: never in registers
};

struct ArgumentReference {
  std::uint32_t argument = 0; // its index
  std::int64_t offset = 0;    // bytes from the block of registers that the helper stored
  bool interior = false;
  friend bool operator==(const ArgumentReference&, const ArgumentReference&) = default;
};

// The register of the first integer or reference; nothing for a CPU whose convention is not known.
std::optional<unsigned> first_argument_register(const Architecture& architecture);

// Whether the convention returns such a value in memory that the caller names in an integer register.
bool returned_in_buffer(const Architecture& architecture, const ArgumentShape& shape);

// The references among `arguments`, in their order. `registers` and `stack` are the offsets of the first
// integer register and of the first argument on the stack. For 64-bit CPUs; empty for one whose convention is
// not known.
std::vector<ArgumentReference> place_references(const Architecture& architecture,
                                                std::span<const ArgumentShape> arguments,
                                                std::int64_t registers, std::int64_t stack);

} // namespace clr
