// The frames of one stack as JSON, of which a stack overflow has half a million: where the same frame recurs
// without end, it is written once with its count.
#pragma once

#include "core/report/answer_json.h"

#include <optional>

namespace clr {

class FoldedFrames {
public:
  // `frames` must outlive this.
  explicit FoldedFrames(FrameJson& frames) : frames_(&frames) {}

  // The frames of a stack one after the other, and then its end: what is known to be written is appended to
  // the array that `json` has begun. The first `one_by_one` frames are written each; behind them frames that
  // differ in nothing but the stack pointer are one, with the stack pointer of the first and "repeat".
  void add(JsonWriter& json, const FrameRow& frame);
  void end(JsonWriter& json);
  std::size_t written() const { return written_; }

  static constexpr std::size_t one_by_one = 10'000;

private:
  FrameJson* frames_;
  std::optional<FrameRow> pending_;
  unsigned repeat_ = 0;
  std::size_t written_ = 0;
};

} // namespace clr
