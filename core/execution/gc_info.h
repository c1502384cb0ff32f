// The beginning of GC info: the length of a method's code. gc_decoder.h has the rest.
// Source: dotnet/runtime src/coreclr/inc/gcinfodecoder.h, src/coreclr/vm/gcinfodecoder.cpp; x86:
// src/coreclr/inc/gcinfotypes.h.
#pragma once

#include "core/execution/gc_bits.h"
#include "core/isa/architecture.h"
#include "core/target/target.h"

namespace clr {

// Bytes of code (hot and cold parts together) of the method whose GC info of `version` is at `gc_info`. One
// read. Throws Error{memory_missing}, Error{corrupt} for an impossible encoding, Error{unsupported_contract}
// for a CPU whose format is not known.
std::uint64_t read_code_length(const Target& target, Address gc_info, unsigned version);

// The version of the GC info in ReadyToRun images with this major version. Still older images have version 2,
// which equals 3 in the part that is read here; 5 differs from 4 on x86 only.
constexpr unsigned gc_info_version_of(unsigned r2r_major_version) {
  constexpr unsigned first_major_with_gc_info_4 = 11, first_major_with_gc_info_5 = 21;
  return r2r_major_version < first_major_with_gc_info_4   ? 3
         : r2r_major_version < first_major_with_gc_info_5 ? 4
                                                          : 5;
}

// Longest believable code of one method, in bytes.
constexpr std::uint64_t max_code_length = 256 * 1024 * 1024;

// For readers of the header. Versions up to this one store the kind of the return value in it.
constexpr unsigned last_gc_info_version_with_return_kind = 3;
constexpr unsigned gc_fat_flag_bits = 10, gc_return_kind_bits_slim = 2;
// The length where `bits` stand, for a form of bits; 1 to max_code_length. Throws as read_code_length.
std::uint64_t read_gc_code_length(GcBits& bits, const GcInfoForm& form);

} // namespace clr
