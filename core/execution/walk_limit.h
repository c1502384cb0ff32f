// How much a walk over all code heaps looks at. One limit counts for all heaps of a walk: hostile heaps can
// share their bytes, so that a small core claims any amount of code.
#pragma once

#include <cstddef>

namespace clr {

class WalkLimit {
public:
  // Takes one block of code, or one page of a nibble map. False when nothing is left; the rest of the code is
  // then left out.
  bool take() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  bool spent() const { return left_ == 0; }

  static constexpr std::size_t max_blocks = 1 << 19; // methods, stubs and pages of maps

private:
  std::size_t left_ = max_blocks;
};

} // namespace clr
