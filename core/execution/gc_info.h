// The length of a method's code, which its GC info states first.
// Source: dotnet/runtime src/coreclr/inc/gcinfodecoder.h, src/coreclr/vm/gcinfodecoder.cpp; x86:
// src/coreclr/inc/gcinfotypes.h.
#pragma once

#include "core/target/target.h"

namespace clr {

// Bytes of code of the method whose GC info of `version` is at `gc_info` (hot and cold parts together). One
// read. Throws Error{memory_missing}, Error{corrupt} for an encoding that cannot be,
// Error{unsupported_contract} for a CPU whose format is not known.
std::uint64_t read_code_length(const Target& target, Address gc_info, unsigned version);

// The version of the GC info in ReadyToRun images of a major version. Version 2 of still older ones equals 3
// as far as it is read here.
constexpr unsigned gc_info_version_of(unsigned r2r_major_version) {
  constexpr unsigned first_major_with_gc_info_4 = 11;
  return r2r_major_version < first_major_with_gc_info_4 ? 3 : 4;
}

// Longest code of one method that is believed, in bytes.
constexpr std::uint64_t max_code_length = 256 * 1024 * 1024;

} // namespace clr
