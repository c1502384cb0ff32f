#include "core/isa/unwind_record.h"

#include "core/isa/architecture.h"

namespace clr {

std::vector<UnwindRecord> unwind_records(MemoryReader& memory, Cpu cpu, Address function, Address base) {
  return architecture_with_stacks(cpu).unwind_records(memory, function, base);
}

} // namespace clr
