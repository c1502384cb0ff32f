// Memory that holds code, or will, and that nothing describes: what the runtime compiles while the process
// runs is stepped into before any debugger can learn of it, and some of its stubs are in no range section.
// For catalog_update only.
#pragma once

#include "core/memory/memory_range.h"
#include "core/publish/catalog_state.h"
#include "core/publish/code_modules.h"
#include "core/runtime/runtime.h"

#include <vector>

namespace clr {

class UnknownCode {
public:
  // Both must outlive this.
  UnknownCode(const CatalogState& state, Runtime& runtime) : state_(&state), runtime_(&runtime) {}

  // What of each code heap lies behind its last published code. x64. No reads when no heap changed.
  std::vector<OwnedCode> rests_of_heaps();
  // What of `executable`, ascending memory, lies in no range section and no published module. x64. Cost: 1
  // read for each that was not known.
  std::vector<OwnedCode> outside_of_sections(const std::vector<MemoryRange>& executable);

  static constexpr std::size_t max_ranges = 4'096; // of executable memory
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 31;

private:
  OwnedCode code(Address begin, Address end);

  const CatalogState* state_;
  Runtime* runtime_;
};

} // namespace clr
