// The sections and code of a DebugModule that make sense; nothing else of it is written.
#pragma once

#include "core/dwarf/debug_module.h"

#include <vector>

namespace clr {

struct PlacedCode {
  const DebugCode* code = nullptr;
  std::uint32_t section = 0; // index into PlacedModule::sections
  std::uint32_t size = 0;    // bytes
};

// Both ascending and disjoint. Points into the module.
struct PlacedModule {
  std::vector<const DebugSection*> sections;
  std::vector<PlacedCode> code;
};

// Leaves out empty sections, code outside of every section and code that overlaps code before it. Throws
// Error{invalid_argument} when sections overlap.
PlacedModule place_code(const DebugModule& module);

} // namespace clr
