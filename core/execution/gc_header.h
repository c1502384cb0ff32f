// The header of GC info: what a method needs of its frame, beside its slots.
// Source: dotnet/runtime src/coreclr/vm/gcinfodecoder.cpp, src/coreclr/gcinfo/gcinfoencoder.cpp;
// docs/design/datacontracts/GCInfo.md.
#pragma once

#include "core/execution/gc_bits.h"
#include "core/isa/architecture.h"

#include <optional>

namespace clr {

// What the register or stack word holds that tells the type arguments of shared generic code.
enum class GcContextKind : std::uint8_t { method_table, method_desc, this_object };
// "method_table", "method_desc", "this": the words of JSON.
std::string_view to_string(GcContextKind kind);

// What an offset counts from. `frame`: the register GcHeader::frame_register.
enum class GcBase : std::uint8_t { caller_sp = 0, sp = 1, frame = 2 };
std::string_view to_string(GcBase base); // "caller_sp", "sp", "fp"

// Offsets of code are bytes from the method's start, where the cold part follows the hot part directly.
struct GcHeader {
  // A word of the frame.
  struct Place {
    GcBase base = GcBase::sp;
    std::int64_t offset = 0; // bytes
  };
  // Compared by epilogues, to find overruns of buffers. It lies at an offset from the caller's SP.
  struct Cookie {
    std::int64_t offset = 0;
    std::uint64_t valid_begin = 0, valid_end = 0;
  };
  // Filled from prolog_end on.
  struct Context {
    GcContextKind kind = GcContextKind::method_desc;
    Place place;
  };

  unsigned version = 0;
  std::uint64_t code_length = 0; // bytes
  bool varargs = false;
  bool wants_leaf_only = false;           // x64: the method has funclets
  bool has_tail_calls = false;            // arm64
  std::optional<unsigned> frame_register; // by DWARF; nothing: the method uses SP
  std::optional<std::uint64_t> prolog_end;
  std::optional<Cookie> cookie;
  std::optional<std::int64_t> psp_symbol; // an offset from the caller's SP; versions 2 and 3
  std::optional<Context> context;
  std::optional<std::uint64_t> enc_bytes;      // Edit and Continue keeps so many bytes of the frame
  std::optional<std::uint64_t> enc_frame_size; // the same; arm64
  std::optional<Place> reverse_pinvoke;        // the frame of native code that called
  std::uint64_t outgoing_area = 0;             // bytes above SP for arguments of calls
  std::uint64_t safe_point_count = 0, range_count = 0;
};

// Offsets and sizes of a frame, in bytes, beyond which they are no data of the JIT.
constexpr std::int64_t max_gc_frame_offset = std::int64_t{1} << 40;

// Whether the parts behind the code length are known; throws Error{unsupported_contract} "unsupported GC info
// N" for a version that is not, and one that names the CPU. No reads.
void require_gc_info(Cpu cpu, unsigned version);

// Reads the header at the beginning of `bits`, and leaves them behind it. Throws Error: memory_missing,
// corrupt, unsupported_contract as require_gc_info.
GcHeader read_gc_header(GcBits& bits, Cpu cpu, unsigned version);

} // namespace clr
