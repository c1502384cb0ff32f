// Who waits for whom, as a picture: threads, locks and tasks as boxes, an arrow from who waits to what it
// waits for, and from a lock to its owner. What is deadlocked is red.
#pragma once

#include "core/report/page/graph_layout.h"
#include "core/report/page/html_writer.h"
#include "core/runtime/async_report.h"
#include "core/runtime/lock_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace clr {

struct PictureBox {
  enum class Kind : std::uint8_t { thread, lock, task, chain };
  Kind kind = Kind::thread;
  std::vector<std::string> lines; // the first is the name
  bool red = false;
};

struct WaitPicture {
  std::vector<PictureBox> boxes;
  std::vector<GraphArrow> arrows;
  std::size_t left_out = 0; // boxes
};

// Threads that wait for the same at the same place, and for which nobody waits, are one box. `chains` may be
// null; of them those are drawn that wait for a lock, or for what a thread waits for, too. The boxes that are
// deadlocked come first, then those for which most wait, max_picture_boxes at most. Throws and costs as
// LockReporter::deadlocks.
WaitPicture wait_picture(LockReporter& locks, const AsyncReport* chains, const HeapWalkOptions& options = {});
constexpr std::size_t max_picture_boxes = 60;
constexpr std::size_t max_picture_arrows = 200;

// The picture as SVG.
void draw(HtmlWriter& html, const WaitPicture& picture);

} // namespace clr
