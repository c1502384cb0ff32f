// Memory that holds code, or will hold it, and that nothing describes. A process that runs on compiles code
// which is stepped into before any debugger can learn of it, and some of the runtime's stubs are in no range
// section. For code_publisher only.
#pragma once

#include "core/memory/memory_range.h"
#include "core/publish/code_modules.h"
#include "core/publish/update_run.h"

#include <string_view>
#include <vector>

namespace clr {

// Ranges that reach into native modules are not believed; the state of the run tells of them.
class UnknownCode {
public:
  // `run` must outlive this.
  explicit UnknownCode(UpdateRun& run) : run_(&run) {}

  // The part of each code heap behind its last published code, RangeCheck::max_unknown bytes at most. x64. No
  // reads when no heap changed.
  std::vector<OwnedCode> rests_of_heaps();
  // The parts of `executable`, ascending memory, that lie in no range section and no published module; of
  // each RangeCheck::max_unknown bytes at most. x64. Cost: 1 read for each that was not known.
  std::vector<OwnedCode> outside_of_sections(const std::vector<MemoryRange>& executable);

  static constexpr std::size_t max_ranges = 4'096; // of executable memory

private:
  OwnedCode code(Address begin, Address end, std::string_view name) const;
  bool is_believed(Address begin, Address end) const;

  UpdateRun* run_;
};

} // namespace clr
