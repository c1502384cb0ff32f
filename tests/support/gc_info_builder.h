// GC info as the JIT would write it, of what a test says of a method.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace clr::test {

struct GcInfoSpec {
  struct Slot {
    std::optional<unsigned> reg; // as instructions encode it; nothing: a stack word
    unsigned base = 1;           // 0 the caller's SP, 1 SP, 2 the frame register
    std::int64_t offset = 0;     // bytes
    unsigned flags = 0;          // 1 interior, 2 pinned
  };
  struct SafePoint {
    std::uint64_t offset = 0; // the return address
    std::vector<unsigned> live;
  };
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  // A slot is live at [begin, end), within ranges.
  struct Life {
    unsigned slot = 0;
    std::uint64_t begin = 0, end = 0;
  };
  struct Place {
    std::uint64_t prolog = 0; // bytes; at least one instruction
    std::int64_t offset = 0;
  };

  Cpu cpu = Cpu::x64;
  unsigned version = 4;
  std::uint64_t length = 0; // bytes of code
  bool fat = false;         // set by what a slim header cannot say
  unsigned flags = 0;       // further ones of a fat header
  bool frame_register = false;
  unsigned context_kind = 0; // 1 MethodTable, 2 MethodDesc, 3 this
  std::optional<Place> context, cookie;
  std::uint64_t epilog = 0; // bytes, with a cookie
  std::optional<std::int64_t> psp_symbol, reverse_pinvoke;
  std::uint64_t outgoing = 0; // bytes
  std::vector<Slot> registers, stack, untracked;
  std::vector<SafePoint> safe_points;
  std::vector<Range> ranges;
  std::vector<Life> lives;
  bool shared_sets = false; // the sets of safe points stand behind offsets
  bool runs = false;        // sets are lengths of runs
};

std::vector<std::byte> gc_info_bytes(const GcInfoSpec& spec);

} // namespace clr::test
