#include "core/execution/gc_slots.h"

#include "core/isa/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace clr {
namespace {

constexpr std::uint32_t interior_flag = 1, pinned_flag = 2;
constexpr unsigned flag_bits = 2, base_bits = 2;
// Widths of groups, which are the same for x64 and arm64.
constexpr unsigned stack_count_width = 2, untracked_count_width = 1, slot_register_width = 3,
                   register_step_width = 2, slot_place_width = 6, slot_step_width = 4;
constexpr std::int64_t slot_bytes = 8; // of the CPUs whose slots are known
constexpr std::int64_t last_word = max_gc_frame_offset / slot_bytes;

class SlotReader {
public:
  SlotReader(GcBits& bits, Cpu cpu) : bits_(bits), cpu_(cpu) {}

  GcSlotTable read() {
    std::uint64_t registers = 0, stack = 0, untracked = 0;
    if (bits_.flag()) registers = bits_.unsigned_number(architecture_of(cpu_).gc_info.parts.register_count);
    if (bits_.flag()) {
      stack = bits_.unsigned_number(stack_count_width);
      untracked = bits_.unsigned_number(untracked_count_width);
    }
    if (registers > max_gc_slots || stack > max_gc_slots || untracked > max_gc_slots ||
        registers + stack + untracked > max_gc_slots)
      bits_.corrupt(fmt::format("more than {} slots", max_gc_slots));
    // Nothing is reserved: a count that lies ends with the bits.
    read_registers(registers);
    read_stack(stack, false);
    table_.tracked = static_cast<std::uint32_t>(registers + stack);
    read_stack(untracked, true);
    return std::move(table_);
  }

private:
  void read_registers(std::uint64_t count) {
    std::uint64_t number = 0;
    std::uint32_t flags = 0;
    for (std::uint64_t n = 0; n < count; ++n) {
      // Of several slots of the same kind the differences are stored; flags are stored until they are 0.
      if (n == 0 || flags != 0) {
        number = bits_.unsigned_number(slot_register_width);
        flags = bits_.take(flag_bits);
      } else {
        number += bits_.unsigned_number(register_step_width) + 1;
      }
      const auto reg = number < 32 ? dwarf_of_jit_register(cpu_, static_cast<std::uint32_t>(number))
                                   : std::optional<unsigned>();
      if (!reg) bits_.corrupt(fmt::format("a slot in register {}", number));
      add({.reg = reg}, flags);
    }
  }

  void read_stack(std::uint64_t count, bool untracked) {
    std::int64_t place = 0;
    std::uint32_t flags = 0;
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint32_t base = bits_.take(base_bits);
      if (base > static_cast<std::uint32_t>(GcBase::frame)) bits_.corrupt("a slot without a base");
      if (n == 0 || flags != 0) {
        place = bits_.signed_number(slot_place_width);
        flags = bits_.take(flag_bits);
      } else {
        const std::uint64_t step = bits_.unsigned_number(slot_step_width);
        if (step > static_cast<std::uint64_t>(last_word)) bits_.corrupt("a slot that no frame has");
        place += static_cast<std::int64_t>(step);
      }
      if (place > last_word || place < -last_word) bits_.corrupt("a slot that no frame has");
      add({.base = static_cast<GcBase>(base), .offset = place * slot_bytes, .untracked = untracked}, flags);
    }
  }

  void add(GcSlot slot, std::uint32_t flags) {
    slot.interior = (flags & interior_flag) != 0;
    slot.pinned = (flags & pinned_flag) != 0;
    table_.slots.push_back(slot);
  }

  GcBits& bits_;
  Cpu cpu_;
  GcSlotTable table_;
};

} // namespace

std::vector<std::string_view> gc_slot_words(const GcSlot& slot) {
  std::vector<std::string_view> words;
  if (slot.interior) words.emplace_back("interior");
  if (slot.pinned) words.emplace_back("pinned");
  if (slot.untracked) words.emplace_back("untracked");
  return words;
}

std::string gc_slot_name(Cpu cpu, const GcHeader& header, const GcSlot& slot) {
  if (slot.reg) return std::string(register_name(cpu, *slot.reg));
  const std::string_view base = slot.base == GcBase::frame && header.frame_register
                                    ? register_name(cpu, *header.frame_register)
                                : slot.base == GcBase::sp ? register_name(cpu, register_roles(cpu).sp)
                                                          : to_string(slot.base);
  if (slot.offset == 0) return fmt::format("[{}]", base);
  return slot.offset < 0 ? fmt::format("[{}-{:#x}]", base, -slot.offset)
                         : fmt::format("[{}+{:#x}]", base, slot.offset);
}

GcSlotTable read_gc_slots(GcBits& bits, Cpu cpu) {
  return SlotReader(bits, cpu).read();
}

bool GcSlotSet::empty() const {
  return std::ranges::all_of(words_, [](std::uint64_t bits) { return bits == 0; });
}

std::vector<std::uint32_t> GcSlotSet::members() const {
  std::vector<std::uint32_t> slots;
  for (std::size_t n = 0; n < words_.size(); ++n)
    for (std::uint64_t rest = words_[n]; rest != 0; rest &= rest - 1)
      slots.push_back(static_cast<std::uint32_t>(64 * n) +
                      static_cast<std::uint32_t>(std::countr_zero(rest)));
  return slots;
}

GcSlotSet read_gc_slot_set(GcBits& bits, std::uint32_t size) {
  bits.spend(size / 64);
  GcSlotSet set(size);
  if (!bits.flag()) {
    for (std::uint32_t slot = 0; slot < size; ++slot)
      if (bits.flag()) set.set(slot, true);
    return set;
  }
  // The lengths of runs, dead ones and live ones in turn. The first run is a dead one and may be empty.
  const bool short_dead_runs = bits.flag();
  const unsigned dead_width = short_dead_runs ? 2 : 4, live_width = short_dead_runs ? 4 : 2;
  bool live = false;
  for (std::uint64_t slot = 0, run = bits.unsigned_number(dead_width);;) {
    if (run > size - slot) bits.corrupt("runs of more slots than there are");
    if (live) bits.spend(run);
    const std::uint64_t end = slot + run;
    for (; live && slot < end; ++slot) set.set(static_cast<std::uint32_t>(slot), true);
    slot = end;
    if (slot == size) return set;
    live = !live;
    run = bits.unsigned_number(live ? live_width : dead_width) + 1;
    if (run == 0) bits.corrupt("an endless run of slots");
  }
}

} // namespace clr
