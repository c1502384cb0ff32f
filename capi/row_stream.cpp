#include "capi/row_stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::capi {

RowStream::RowStream(SharedInspection inspection, Producer producer)
    : inspection_(std::move(inspection)), producer_(std::move(producer)),
      fiber_(std::make_unique<Fiber>([this] { produce(); })) {}

RowStream::~RowStream() {
  // The producer is left by its own way out, so that what it holds is let go.
  stop_ = true;
  if (!fiber_->begun() || fiber_->ended()) return;
  try {
    inspection_.enter([&](Inspection&) {
      while (!fiber_->ended()) {
        try {
          fiber_->resume();
        } catch (...) {
          // Nobody waits for the answer any more.
        }
      }
    });
  } catch (...) {
    // It could not be left in turn: what it holds stays, rather than being let go while others use it.
    static_cast<void>(fiber_.release());
  }
}

void RowStream::produce() {
  end_ = producer_(*visited_, [this](std::string_view row) { return add(row); });
}

bool RowStream::add(std::string_view row) {
  if (stop_) return false;
  if (in_batch_++ != 0) rows_ += ",";
  rows_ += row;
  if (in_batch_ >= batch_limit_ || rows_.size() >= batch_bytes) fiber_->suspend();
  return !stop_;
}

const std::string* RowStream::next() {
  if (done_) return nullptr;
  done_ = true; // unless all goes well
  inspection_.visit([&](Inspection& inspection) {
    visited_ = &inspection;
    rows_.clear();
    in_batch_ = 0;
    fiber_->resume();
  });
  done_ = fiber_->ended();
  batch_limit_ = std::min(batch_limit_ * 2, largest_batch);
  batch_ = done_ ? fmt::format("{{\"rows\":[{}],\"end\":{}}}", rows_, end_.is_null() ? "{}" : dump(end_))
                 : fmt::format("{{\"rows\":[{}]}}", rows_);
  return &batch_;
}

} // namespace clr::capi
