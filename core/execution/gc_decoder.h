// The GC info of one method: its header, its slots, and which of them hold references at an instruction.
// docs/design/datacontracts/GCInfo.md of dotnet/runtime; src/coreclr/vm/gcinfodecoder.cpp.
#pragma once

#include "core/execution/code_block.h"
#include "core/execution/gc_ranges.h"
#include "core/target/target.h"

namespace clr {

// Decodes as it is asked. Every function throws Error{memory_missing}, Error{corrupt}; one that failed fails
// again. A call takes at most GcBits::max_gc_steps steps.
class GcDecoder {
public:
  // Reads the header of the GC info of `version` at `gc_info`. `target` must outlive this. Cost: 1 read for a
  // blob of up to 32 bytes, one more for the next 256, and so on. Throws Error{unsupported_contract} for a
  // version or a CPU of which only the code length is known.
  GcDecoder(const Target& target, Address gc_info, unsigned version);
  GcDecoder(const GcDecoder&) = delete;
  GcDecoder& operator=(const GcDecoder&) = delete;

  const GcHeader& header() const { return header_; }
  Cpu cpu() const { return cpu_; }

  // The calls at which a collection may run, as offsets of their return addresses, ascending. Version 4
  // leaves out calls at which no tracked slot is live.
  const std::vector<std::uint64_t>& safe_points();
  const std::vector<GcRange>& ranges();
  const GcSlotTable& slots();

  // The tracked slots that are live when the call of safe point `index` returns; of each in turn, until
  // `visit` returns false.
  GcSlotSet live_at_safe_point(std::size_t index);
  void for_each_safe_point(const std::function<bool(std::uint64_t offset, const GcSlotSet&)>& visit);
  // The index of the safe point whose return address is at `offset`.
  std::optional<std::size_t> safe_point_at(std::uint64_t offset);
  // The tracked slots that are live at `offset`; nothing when it lies in no range.
  std::optional<GcSlotSet> live_in_range(std::uint64_t offset);
  // GcRangeLives::for_each_change.
  void for_each_change(const std::function<bool(std::uint64_t, std::uint32_t, bool)>& change);

  // Decodes everything. The number of bytes that the blob takes, without those that align what follows.
  std::uint64_t measure();

  // Steps of the last question, also of one that failed. No reads.
  std::uint64_t steps() const { return bits_.steps(); }
  // Bytes of memory that it takes beside itself. No reads.
  std::size_t kept_bytes() const {
    return bits_.kept_bytes() + safe_points_.capacity() * sizeof(std::uint64_t) +
           ranges_.capacity() * sizeof(GcRange) + slots_.slots.capacity() * sizeof(GcSlot);
  }

private:
  void read_tables();
  void read_safe_points();
  void find_safe_point_sets();
  GcSlotSet read_safe_point_set(std::size_t index);

  Cpu cpu_;
  unsigned unit_;
  GcBits bits_;
  GcHeader header_;
  bool tables_read_ = false;
  std::uint64_t tables_at_ = 0, tables_end_ = 0; // bits
  std::vector<std::uint64_t> safe_points_;
  std::vector<GcRange> ranges_;
  GcSlotTable slots_;
  // Sets of safe points: each in place, or behind an offset of this width.
  std::optional<unsigned> offset_bits_;
  std::uint64_t sets_at_ = 0, shared_sets_at_ = 0;
  std::optional<GcRangeLives> lives_;
};

} // namespace clr
