#include "core/stack/live_slots.h"

#include "core/isa/registers.h"

#include <fmt/format.h>

#include <utility>

namespace clr {
namespace {

// Versions before this one know the calls of a caller by an address inside the call.
constexpr unsigned first_version_by_return_address = 4;

// The tracked slots that are live at `offset`; nothing when not even the untracked ones are.
std::optional<GcSlotSet> tracked_at(GcDecoder& decoder, std::uint64_t offset, FrameStand stand,
                                    LiveSlots& result) {
  if (stand != FrameStand::aborted)
    if (const auto point = decoder.safe_point_at(offset)) return decoder.live_at_safe_point(*point);
  const bool inside_call = stand == FrameStand::caller && offset != 0 &&
                           decoder.header().version < first_version_by_return_address;
  if (auto live = decoder.live_in_range(inside_call ? offset - 1 : offset)) return live;
  // In a prolog or an epilog of a method that may be interrupted elsewhere nothing is reported.
  if (!decoder.ranges().empty()) return std::nullopt;
  const auto prolog_end = decoder.header().prolog_end;
  if (stand == FrameStand::leaf && (!prolog_end || offset < *prolog_end))
    result.why_uncertain = "the instruction may lie in the prolog, where the slot is not yet set";
  return GcSlotSet(decoder.slots().tracked);
}

} // namespace

// A decoder reads as it is asked, and may fail then: what it took and keeps is counted before the next one.
void LiveSlotReader::count_asked() {
  Body* const body = std::exchange(asked_, nullptr);
  if (body == nullptr) return;
  steps_ += body->decoder->steps();
  body_bytes_ += body->decoder->kept_bytes() - body->bytes;
  body->bytes = body->decoder->kept_bytes();
}

LiveSlotReader::Body& LiveSlotReader::body_of(const CodeBlock& block) {
  if (const auto known = bodies_.find(block.start); known != bodies_.end()) return known->second;
  const GcInfoLocation at = code_->gc_info(block);
  Body body{.decoder = std::make_unique<GcDecoder>(code_->target(), at.address, at.version), .header = {}};
  body.header = std::make_shared<const GcHeader>(body.decoder->header());
  if (bodies_.size() >= max_kept_bodies || body_bytes_ >= max_kept_body_bytes) {
    bodies_.clear();
    body_bytes_ = 0;
  }
  return bodies_.emplace(block.start, std::move(body)).first->second;
}

LiveSlots LiveSlotReader::read(const CodeBlock& block, Address pc, FrameStand stand, bool filter) {
  count_asked();
  if (steps_ > max_all_steps)
    throw_corrupt(block.start,
                  fmt::format("GC info of methods that takes more than {} steps together", max_all_steps));
  Body& body = body_of(block);
  asked_ = &body;
  GcDecoder& decoder = *body.decoder;
  LiveSlots result{.slots = {}, .header = body.header, .why_uncertain = {}};
  const std::uint64_t offset = code_->relative_offset(block) + (pc - block.ip);
  const std::optional<GcSlotSet> live = tracked_at(decoder, offset, stand, result);
  if (!live) return result;
  const GcSlotTable& table = decoder.slots();
  for (const std::uint32_t index : live->members()) {
    const GcSlot& slot = table.slots[index];
    // A callee may have changed the others, and so may what handles an exception; value registers of the call
    // are not set yet.
    if (stand != FrameStand::leaf && slot.reg && !is_callee_saved(decoder.cpu(), *slot.reg)) continue;
    result.slots.push_back(slot);
  }
  if (!filter)
    result.slots.insert(result.slots.end(), table.slots.begin() + table.tracked, table.slots.end());
  return result;
}

const LiveSlots& LiveSlotReader::at(const CodeBlock& block, Address pc, FrameStand stand, bool filter) {
  auto& known = known_[static_cast<unsigned>(stand)][filter ? 1 : 0];
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  LiveSlots slots = read(block, pc, stand, filter);
  if (kept_spots_ >= max_kept_spots || kept_slots_ >= max_kept_slots) {
    for (auto& of_stand : known_)
      for (auto& spots : of_stand) spots.clear();
    kept_spots_ = kept_slots_ = 0;
  }
  ++kept_spots_;
  kept_slots_ += slots.slots.size();
  slots.slots.shrink_to_fit();
  return known.insert_or_assign(pc, std::move(slots)).first->second;
}

} // namespace clr
