// The packed form of arm64 unwind data: a function with a canonical prologue and epilogue is described by the
// second word of its RUNTIME_FUNCTION alone. The JIT and crossgen2 write full records only; native Windows
// code and other compilers of managed code write this form. Source: Microsoft's ARM64 exception handling
// document ("Packed unwind data"); dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp
// (RtlpExpandCompactToFull).
#pragma once

#include "core/isa/arm64/unwind.h"

namespace clr {

// The fields of the word.
struct Arm64PackedUnwindData {
  // The place of the return address.
  enum class Chain : std::uint8_t {
    none = 0,           // it stays in lr
    saved = 1,          // lr is saved behind the general registers
    chained_signed = 2, // fp and lr are saved, fp points to them; pacibsp comes first
    chained = 3,        // the same without pacibsp
  };
  bool fragment = false; // no prologue and no epilogue: the frame is that of the function's other part
  std::uint32_t function_length = 0; // bytes
  unsigned vectors = 0;              // d8 and on: 0 or 2 to 8
  unsigned generals = 0;             // x19 and on: 0 to 15, of which 0 to 10 make sense
  bool homes_parameters = false;     // x0 to x7 are stored
  Chain chain = Chain::none;
  std::uint32_t frame_size = 0; // bytes
};

// The fields of a word whose lowest two bits are 1 or 2. No reads, no errors.
Arm64PackedUnwindData parse_arm64_packed(std::uint32_t unwind_data);

// The full record that says the same as the packed word, which lies at `at`. No reads. Throws Error{corrupt}:
// a frame too small for what it holds, registers that do not exist.
//
// Where the two sources differ: a frame of more than 4080 bytes is made by two instructions, as the document
// says (the runtime's expansion counts one). Parameters that are stored without any saved register belong to
// the locals, as in the runtime; the document leaves that case open.
Arm64UnwindInfo expand_arm64_packed(std::uint32_t unwind_data, Address at);

} // namespace clr
