// What all targets try: an Error is the right end for damaged input.
#pragma once

#include "core/memory/error.h"

namespace clr::fuzz {

// Runs `act`, and takes an Error for an answer.
template<typename Act>
void attempt(const Act& act) {
  try {
    act();
  } catch (const Error&) {
    // A refusal.
  }
}

} // namespace clr::fuzz
