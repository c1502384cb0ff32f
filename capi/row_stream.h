// Rows that are made on request, in batches of JSON.
#pragma once

#include "capi/fiber.h"
#include "capi/inspection.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace clr::capi {

class RowStream {
public:
  // Batches begin small, so that the first row comes soon, and grow, so that the cost per row is small.
  static constexpr std::size_t first_batch = 1, largest_batch = 1024, batch_bytes = 256 * 1024;

  // Takes a row, as JSON text. Returns false when no more rows are wanted.
  using Emit = std::function<bool(std::string_view row)>;
  // Makes all rows and returns the end object of the answer.
  using Producer = std::function<Json(Inspection& inspection, const Emit& emit)>;

  RowStream(SharedInspection inspection, Producer producer);
  ~RowStream();

  // The next batch, in the form that clr_rows_next describes, valid until the next call; null after the last
  // batch. Throws Stale, and exceptions of the producer; there are no more batches after that.
  const std::string* next();

private:
  void produce();
  bool add(std::string_view row);

  SharedInspection inspection_;
  Inspection* visited_ = nullptr; // while the producer runs
  Producer producer_;
  std::unique_ptr<Fiber> fiber_;
  Json end_;
  std::string rows_, batch_;
  std::size_t in_batch_ = 0, batch_limit_ = first_batch;
  bool stop_ = false, done_ = false;
};

} // namespace clr::capi
