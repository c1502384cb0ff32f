// The slots of GC info: the registers and stack words in which a method keeps references.
// Source: dotnet/runtime src/coreclr/vm/gcinfodecoder.cpp (GcSlotDecoder).
#pragma once

#include "core/execution/gc_header.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace clr {

struct GcSlot {
  std::optional<unsigned> reg; // by DWARF number; nothing: a stack word
  GcBase base = GcBase::sp;    // of a stack word
  std::int64_t offset = 0;     // bytes from the base
  bool interior = false;       // may point into an object, or behind its end, or to no object at all
  bool pinned = false;
  bool untracked = false; // live in the whole body but for its prolog; may be null

  friend bool operator==(const GcSlot&, const GcSlot&) = default;
};

// "rbx", "[rbp-0x20]", "[sp+0x8]", "[caller_sp-0x8]". No reads.
std::string gc_slot_name(Cpu cpu, const GcHeader& header, const GcSlot& slot);

// "interior", "pinned", "untracked", those that it is. No reads.
std::vector<std::string_view> gc_slot_words(const GcSlot& slot);

struct GcSlotTable {
  std::vector<GcSlot> slots; // registers, then stack words, then the untracked ones
  std::uint32_t tracked = 0; // those that come first: the others are untracked
};

// Reads the table where `bits` stand, and leaves them behind it. Throws Error: memory_missing, corrupt.
GcSlotTable read_gc_slots(GcBits& bits, Cpu cpu);

// Slots of one method: methods that tools make have some thousands of variables. Each slot has its bits in
// the blob, so this bounds what they take here; and each frame of the method may have as many roots.
constexpr std::uint32_t max_gc_slots = 64 * 1024;

// The tracked slots that are live somewhere, by their index.
class GcSlotSet {
public:
  explicit GcSlotSet(std::uint32_t size = 0) : words_((size + 63) / 64), size_(size) {}

  std::uint32_t size() const { return size_; }
  bool has(std::uint32_t slot) const { return slot < size_ && (words_[slot / 64] >> slot % 64 & 1) != 0; }
  void set(std::uint32_t slot, bool live) {
    const std::uint64_t bit = std::uint64_t{1} << slot % 64;
    words_[slot / 64] = live ? words_[slot / 64] | bit : words_[slot / 64] & ~bit;
  }
  bool empty() const;
  // In ascending order.
  std::vector<std::uint32_t> members() const;

  friend bool operator==(const GcSlotSet&, const GcSlotSet&) = default;

private:
  std::vector<std::uint64_t> words_;
  std::uint32_t size_ = 0;
};

// Reads a set of `size` slots where `bits` stand, and leaves them behind it. Throws Error: memory_missing,
// corrupt.
GcSlotSet read_gc_slot_set(GcBits& bits, std::uint32_t size);

} // namespace clr
