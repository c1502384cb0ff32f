// The GC info of one body of code, decoded for people and scripts: everything that the blob says, and what is
// live at one instruction.
#pragma once

#include "core/execution/gc_decoder.h"
#include "core/runtime/runtime.h"

namespace clr {

struct GcReport {
  struct SafePoint {
    std::uint64_t offset = 0;        // of the return address
    std::vector<std::uint32_t> live; // indices of slots
  };
  struct Change {
    std::uint64_t offset = 0;
    std::uint32_t slot = 0;
    bool live = false; // from offset on
  };
  struct Range {
    GcRange range;
    std::vector<Change> changes; // the slots that are live at its begin, then what changes
  };
  // What an instruction is to the collector. `nowhere`: tracked slots are not live there.
  enum class Spot : std::uint8_t { safe_point, range, nowhere };

  Address address = 0; // that was asked for
  std::uint64_t offset = 0;
  MethodAnswer answer;
  Cpu cpu = Cpu::unknown;
  Address gc_info = 0;
  std::uint64_t code_length = 0; // bytes
  unsigned version = 0;
  std::string fault; // why there is no more than the length, or why lists end early; empty when all is there

  std::optional<GcHeader> header; // nothing: `fault` says why
  GcSlotTable slots;
  std::vector<SafePoint> safe_points;
  std::vector<Range> ranges;
  std::uint64_t size = 0; // bytes of the blob

  Spot spot = Spot::nowhere;
  std::vector<std::uint32_t> live; // tracked slots at `offset`

  // Rows of safe points and changes in one report; what is beyond is left out, and `fault` says so.
  static constexpr std::size_t max_rows = 1'000'000;
};
std::string_view to_string(GcReport::Spot spot); // "safe_point", "range", "nowhere"

// The GC info of the body that holds block.ip. Cost: that of ExecutionManager::gc_info, and the reads of
// GcDecoder. Throws Error when the code length cannot be read: memory_missing, corrupt, unsupported_contract.
GcReport report_gc_info(Runtime& runtime, const CodeBlock& block);
// The same for the code at `address`. Throws Error{invalid_argument} when it is no managed code.
GcReport gc_info_at(Runtime& runtime, Address address);

// "[rbp-0x20] (interior, pinned, untracked)", and the names of several with commas between them.
std::string describe_gc_slot(const GcReport& report, std::uint32_t slot);
std::string describe_gc_slots(const GcReport& report, const std::vector<std::uint32_t>& slots);

// A line of a listing: what the collector knows from this offset on.
struct GcMark {
  enum class Kind : std::uint8_t { safe_point, range_begin, range_end, becomes_live, dies };
  std::uint64_t offset = 0;
  Kind kind = Kind::safe_point;
  std::vector<std::uint32_t> slots; // of a safe point and a range the live ones
  std::string text;                 // "safe point, live: rax, [rbp-0x70]"
};
std::string_view to_string(GcMark::Kind kind); // "safe_point", "range_begin", "range_end", "live", "dead"

// In the order of their offsets.
std::vector<GcMark> gc_marks(const GcReport& report);

} // namespace clr
