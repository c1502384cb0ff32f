// Helpers that run code and return the fault that it throws.
#pragma once

#include "core/memory/failing_reader.h"

#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace clr::test {

// The fault that a call ended with, if it did. To look into a fault that is not there fails the test case,
// where an optional would be undefined.
class Fault {
public:
  Fault() = default;
  explicit Fault(Error error) : error_(std::move(error)) {}

  bool has_value() const { return error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error* operator->() const {
    if (!error_) throw std::logic_error("a fault was expected, but the call returned");
    return &*error_;
  }

private:
  std::optional<Error> error_;
};

template<typename Call>
Fault fault_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return Fault(error);
  }
  return {};
}

// Calls `attempt` with a reader of which read number k fails, for k = 1, 2, ... until it makes fewer reads
// than k, and that last time undisturbed. `attempt` gets the reader and k, 0 for the undisturbed run. Returns
// how many reads the undisturbed run makes.
inline std::uint64_t for_each_failing_read(MemoryReader& memory,
                                           const std::function<void(MemoryReader&, std::uint64_t)>& attempt,
                                           bool stays_failed = false) {
  constexpr std::uint64_t most = 100'000; // no call that is tested this way makes so many
  for (std::uint64_t k = 1; k < most; ++k) {
    FailingReader failing(memory, k, stays_failed);
    attempt(failing, k);
    if (failing.reads() < k) break;
  }
  FailingReader whole(memory);
  attempt(whole, 0);
  return whole.reads();
}

} // namespace clr::test
