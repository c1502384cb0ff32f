// Managed objects and values as people want to read them.
#pragma once

#include "core/objects/type_finder.h"

namespace clr {

class ObjectReader {
public:
  // Both must outlive this. No reads.
  ObjectReader(const Target& target, MethodNames& names) : target_(&target), finder_(target, names) {}

  TypeFinder& finder() { return finder_; }

private:
  const Target* target_;
  TypeFinder finder_;
};

} // namespace clr
