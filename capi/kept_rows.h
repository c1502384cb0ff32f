// Rows of an answer that are all made before the first is handed out, because what makes them does not wait
// for the caller: a walk of a stack, a search.
#pragma once

#include "capi/row_stream.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace clr::capi {

class KeptRows {
public:
  static constexpr std::size_t max_bytes = 256'000'000;

  // `most`: bytes of all rows.
  explicit KeptRows(std::size_t most = max_bytes) : most_(most) {}

  // Keeps a row. False when it has no room: then no row behind it is taken.
  bool add(std::string row) {
    if (full_ || row.size() > most_ - bytes_) full_ = true;
    if (full_) return false;
    bytes_ += row.size();
    rows_.push_back(std::move(row));
    return true;
  }
  // Hands out the rows while they are wanted.
  void emit(const RowStream::Emit& emit) const {
    for (const std::string& row : rows_)
      if (!emit(row)) return;
  }
  // Says in `notes` that rows are left out, if any are.
  void tell(std::vector<std::string>& notes) const {
    if (full_)
      notes.push_back(fmt::format("only the first {} rows have room: the rest is left out", rows_.size()));
  }

private:
  std::size_t most_, bytes_ = 0;
  bool full_ = false;
  std::vector<std::string> rows_;
};

} // namespace clr::capi
