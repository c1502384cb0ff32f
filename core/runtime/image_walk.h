// How much a walk over the methods of all ReadyToRun images looks at. Range sections of a hostile core can
// share an image and its bytes, so that a small core claims any number of methods.
#pragma once

#include "core/execution/code_block.h"

#include <cstddef>
#include <unordered_set>

namespace clr {

class ImageWalk {
public:
  // Whether `section` is that of an image that this walk has not met. What begins at one address is one
  // image: another section for it would give the same methods again.
  bool enter(const RangeSection& section) {
    return section.r2r_module != 0 && met_.insert(section.begin).second;
  }
  // Takes one method. False when none is left; the rest is then left out.
  bool take() {
    if (left_ == 0)
      spent_ = true;
    else
      --left_;
    return !spent_;
  }
  // Whether something was left out.
  bool spent() const { return spent_; }

  // The framework has some 150,000.
  static constexpr std::size_t max_image_methods = 1 << 21;

private:
  std::size_t left_ = max_image_methods;
  bool spent_ = false;
  std::unordered_set<Address> met_; // the begins of the images
};

} // namespace clr
