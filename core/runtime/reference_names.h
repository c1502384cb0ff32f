// The field or element of an object that holds a reference.
#pragma once

#include "core/runtime/runtime.h"

#include <string>

namespace clr {

class ReferenceNames {
public:
  // `runtime` must have a target, and outlive this. No reads.
  explicit ReferenceNames(Runtime& runtime) : runtime_(&runtime) {}

  // "_next", "_pair.Left", "[3]", "[3].Left": what lies `offset` bytes behind the start of an object of this
  // type; empty when that is not known. Never throws. Cost: that of TypeLayouts::of for each new type.
  std::string name(Address method_table, std::uint64_t offset);

  static constexpr unsigned max_depth = 32; // values within values, and base types

private:
  std::string name_in(Address method_table, std::uint64_t offset, unsigned depth);

  Runtime* runtime_;
};

} // namespace clr
