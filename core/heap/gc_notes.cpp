#include "core/heap/gc_notes.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace clr {
namespace {

// Words of GcDacVars that gc_state.cpp does not need.
constexpr std::size_t failure_word = 17, heap_fields_word = 30, tables_word = 32, adaptation_word = 41;
constexpr unsigned least_minor_with_adaptation = 4;
constexpr std::size_t heap_failure_entry = 3, heap_generations_entry = 18;

// Fields of oom_history, in words; of card_table_info, likewise.
constexpr unsigned failure_asked = 1, failure_collection = 4, failure_call = 5, failure_refused = 6,
                   failure_large = 8;
constexpr unsigned tables_size = 1, tables_lowest = 3, tables_highest = 4;

class NotesReader {
public:
  NotesReader(const Target& target, const GcState& state, GcNotes& notes)
      : target_(target), state_(state), notes_(notes), width_(target.pointer_size()) {}

  void read() {
    if (target_.descriptor().version != descriptor_format_integers)
      read_by_contract();
    else
      read_by_table();
  }

private:
  template<typename Act>
  void attempt_part(std::string_view what, const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      add_problem(notes_.problems, fmt::format("{}: {}", what, error.what()));
    }
  }

  Address word(Address at, std::size_t index) const { return target_.read_pointer(at + index * width_); }

  void read_by_table() {
    const Address variables = state_.variables;
    attempt_part("whether the collector adapts its number of heaps", [&] {
      if (!state_.server) return;
      if (target_.read_u8(variables + 1) < least_minor_with_adaptation) return;
      const Address mode = word(variables, adaptation_word);
      if (mode != 0) notes_.adapts = target_.read_i32(mode) == 1;
    });
    attempt_part("what the collector reserved", [&] {
      const Address slot = word(variables, tables_word);
      if (slot != 0) read_tables(target_.read_pointer(slot));
    });
    attempt_part("the collector's record of failures", [&] {
      if (!state_.server) return add_failure(0, word(variables, failure_word));
      const Address fields = word(variables, heap_fields_word);
      const std::int32_t place = target_.read_i32(fields + 4 * heap_failure_entry);
      const std::int32_t generations = target_.read_i32(fields + 4 * heap_generations_entry);
      if (place < 0) return; // this collector keeps none
      for (std::uint32_t i = 0; i < state_.heaps.size(); ++i)
        if (const Address heap = state_.heaps[i].generations; heap != 0)
          add_failure(i, heap - static_cast<Address>(generations) + static_cast<Address>(place));
    });
  }

  void read_by_contract() {
    attempt_part("whether the collector adapts its number of heaps", [&] {
      if (!state_.server) return;
      if (const auto mode = target_.find_global("DynamicAdaptationMode"))
        notes_.adapts = target_.read_i32(*mode) == 1;
    });
    attempt_part("the collector's record of failures", [&] {
      if (!target_.find_offset("OomHistory", "Reason")) return;
      if (!state_.server) {
        if (const auto record = target_.find_global("GCHeapOomData")) add_described_failure(0, *record);
        return;
      }
      const auto place = target_.find_offset("GCHeap", "OomData"),
                 generations = target_.find_offset("GCHeap", "GenerationTable");
      if (!place || !generations) return;
      for (std::uint32_t i = 0; i < state_.heaps.size(); ++i)
        if (const Address heap = state_.heaps[i].generations; heap != 0)
          add_described_failure(i, heap + static_cast<Address>(*place - *generations));
    });
  }

  void add(const GcFailure& failure) {
    if (failure.reason != 0) notes_.failures.push_back(failure);
  }

  void add_failure(std::uint32_t heap, Address at) {
    if (at == 0) return;
    const auto number = [&](unsigned field) { return target_.read_u32(at + Address{field} * width_); };
    GcFailure failure{.heap = heap, .reason = target_.read_u32(at)};
    if (failure.reason == 0) return;
    failure.asked = word(at, failure_asked);
    failure.collection = word(at, failure_collection);
    failure.system_call = number(failure_call);
    failure.refused = word(at, failure_refused);
    failure.large = number(failure_large) != 0;
    add(failure);
  }

  void add_described_failure(std::uint32_t heap, Address at) {
    const auto place = [&](std::string_view name) { return target_.field_address(at, "OomHistory", name); };
    add({.heap = heap,
         .reason = target_.read_u32(place("Reason")),
         .asked = target_.read_pointer(place("AllocSize")),
         .collection = target_.read_pointer(place("GcIndex")),
         .system_call = target_.read_u32(place("Fgm")),
         .refused = target_.read_pointer(place("Size")),
         .large = target_.read_u32(place("LohP")) != 0});
  }

  void read_tables(Address at) {
    if (at == 0) return;
    const std::uint64_t size = word(at, tables_size);
    const Address lowest = word(at, tables_lowest), highest = word(at, tables_highest);
    if (size <= max_gc_reserved_bytes && at + size > at) notes_.tables = {at, size};
    if (lowest < highest && highest - lowest <= max_gc_reserved_bytes)
      notes_.reserved = {lowest, highest - lowest};
  }

  const Target& target_;
  const GcState& state_;
  GcNotes& notes_;
  unsigned width_;
};

} // namespace

std::string failure_text(const GcFailure& failure) {
  constexpr std::array<std::string_view, 7> reasons{
      "",
      "no room was left within the budget of a generation",
      "the system gave no memory",
      "the system gave no addresses",
      "there was no room for a large object",
      "the memory of the machine or container was low",
      "collections freed nothing",
  };
  constexpr std::array<std::string_view, 6> calls{
      "",
      "reserving {} bytes for a segment",
      "committing {} bytes at the beginning of a segment",
      "committing {} bytes of a segment",
      "making a table of {} bytes larger",
      "committing {} bytes of a table",
  };
  std::string text = failure.reason < reasons.size() ? std::string(reasons[failure.reason])
                                                     : fmt::format("reason {}", failure.reason);
  if (failure.system_call != 0)
    text += failure.system_call < calls.size()
                ? fmt::format(" ({})", fmt::format(fmt::runtime(calls[failure.system_call]), failure.refused))
                : fmt::format(" (call {}, {} bytes)", failure.system_call, failure.refused);
  return text;
}

GcNotes read_gc_notes(const Target& target, const GcState& state) {
  GcNotes notes;
  NotesReader(target, state, notes).read();
  return notes;
}

} // namespace clr
