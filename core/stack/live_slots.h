// The slots of a frame that hold references while it stands where it stands: the rules by which the runtime's
// collector reads GC info. Source: dotnet/runtime src/coreclr/vm/gcinfodecoder.cpp (EnumerateLiveSlots),
// src/coreclr/vm/eetwain.cpp (EECodeManager::EnumGcRefs), src/coreclr/vm/gcenv.ee.common.cpp.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/execution/gc_decoder.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// How a frame stands at its pc.
enum class FrameStand : std::uint8_t {
  caller,  // it waits for a call to return
  leaf,    // its next instruction is at pc, and its thread will go on there
  aborted, // an exception interrupted it: it will never go on there
};

struct LiveSlots {
  std::vector<GcSlot> slots;
  std::shared_ptr<const GcHeader> header;
  // Empty, or why the untracked slots may hold something else.
  std::string why_uncertain;
};

class LiveSlotReader {
public:
  // `code` must outlive this. No reads.
  explicit LiveSlotReader(ExecutionManager& code) : code_(&code) {}

  // The live slots of the body that holds `block`, for a frame whose pc is `pc` (block.ip, or the byte behind
  // it). `filter`: the frame is that of an exception filter, which leaves the untracked slots to its parent.
  // Registers that a call may change are left out, but for a leaf. Kept for the stop: the same pc again costs
  // no reads. Cost: that of ExecutionManager::gc_info and GcDecoder. Throws Error: memory_missing, corrupt,
  // unsupported_contract; corrupt also beyond max_all_steps. The reference is valid until the next call.
  const LiveSlots& at(const CodeBlock& block, Address pc, FrameStand stand, bool filter);

  // Instructions that are kept, and their slots together; when there are more, all are forgotten. So are the
  // decoded bodies, by their number and their bytes.
  static constexpr std::size_t max_kept_spots = 100'000, max_kept_slots = 2 * 1024 * 1024;
  static constexpr std::size_t max_kept_bodies = 20'000, max_kept_body_bytes = 64 * 1024 * 1024;
  // Steps of GcDecoder for all questions: an instruction takes some hundreds. Methods may share GC info that
  // takes GcBits::max_gc_steps for each of them.
  static constexpr std::uint64_t max_all_steps = 1024 * 1024 * 1024;

  // At most max_kept_slots and those of one instruction.
  std::size_t kept_slots() const { return kept_slots_; }

private:
  LiveSlots read(const CodeBlock& block, Address pc, FrameStand stand, bool filter);

  ExecutionManager* code_;
  std::unordered_map<Address, LiveSlots> known_[3][2]; // by pc; of each stand, filters apart
  std::size_t kept_spots_ = 0, kept_slots_ = 0;        // of all these
  struct Body {
    std::unique_ptr<GcDecoder> decoder;
    std::shared_ptr<const GcHeader> header;
    std::size_t bytes = 0; // of its decoder, as they were counted last
  };
  Body& body_of(const CodeBlock& block);
  void count_asked();
  std::unordered_map<Address, Body> bodies_; // by start
  std::size_t body_bytes_ = 0;
  std::uint64_t steps_ = 0;
  Body* asked_ = nullptr; // the body that was asked last, until that is counted
};

} // namespace clr
