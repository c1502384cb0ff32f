#include "capi/row_stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::capi {

RowStream::RowStream(std::shared_ptr<Inspection> inspection, Producer producer)
    : inspection_(std::move(inspection)), producer_(std::move(producer)), fiber_([this] { produce(); }) {}

RowStream::~RowStream() {
  // Lets the producer end in its normal way, so that it frees everything it holds.
  stop_ = true;
  while (fiber_.begun() && !fiber_.ended()) {
    try {
      fiber_.resume();
    } catch (...) {
      // Nobody waits for this error any more.
    }
  }
}

void RowStream::produce() {
  end_ = producer_(*inspection_, [this](const Json& row) { return add(row); });
}

bool RowStream::add(const Json& row) {
  if (stop_) return false;
  if (in_batch_++ != 0) rows_ += ",";
  rows_ += dump(row);
  if (in_batch_ >= batch_limit_ || rows_.size() >= batch_bytes) fiber_.suspend();
  return !stop_;
}

const std::string* RowStream::next() {
  if (done_) return nullptr;
  done_ = true; // stays so if the code below throws
  inspection_->require_current();
  rows_.clear();
  in_batch_ = 0;
  fiber_.resume();
  done_ = fiber_.ended();
  batch_limit_ = std::min(batch_limit_ * 2, largest_batch);
  batch_ = done_ ? fmt::format("{{\"rows\":[{}],\"end\":{}}}", rows_, end_.is_null() ? "{}" : dump(end_))
                 : fmt::format("{{\"rows\":[{}]}}", rows_);
  return &batch_;
}

} // namespace clr::capi
