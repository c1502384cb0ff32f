// Managed objects and values as people want to read them.
#pragma once

#include "core/objects/type_layout.h"

namespace clr {

class ObjectReader {
public:
  // Both must outlive this. No reads.
  ObjectReader(const Target& target, MethodNames& names)
      : target_(&target), finder_(target, names), layouts_(finder_) {}
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  TypeFinder& finder() { return finder_; }
  TypeLayouts& layouts() { return layouts_; }

private:
  const Target* target_;
  TypeFinder finder_;
  TypeLayouts layouts_;
};

} // namespace clr
