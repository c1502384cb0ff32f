#include "core/report/folded_frames.h"

namespace clr {
namespace {

bool same(const FrameRow& a, const FrameRow& b) {
  return a.ip == b.ip && a.kind == b.kind && a.found_by == b.found_by && a.answer == b.answer &&
         a.exact == b.exact && a.method == b.method && a.symbol == b.symbol && a.position == b.position &&
         a.module == b.module && a.frame_type == b.frame_type && a.fault == b.fault && !a.registers &&
         !b.registers;
}

} // namespace

void FoldedFrames::add(JsonWriter& json, const FrameRow& frame) {
  if (frame.index < one_by_one) {
    frames_->write(json, frame);
    ++written_;
    return;
  }
  if (pending_ && same(*pending_, frame)) {
    ++repeat_;
    return;
  }
  end(json);
  pending_ = frame;
  repeat_ = 1;
}

void FoldedFrames::end(JsonWriter& json) {
  if (!pending_) return;
  frames_->write(json, *pending_, repeat_);
  ++written_;
  pending_.reset();
}

} // namespace clr
