// Unwind data of x64 code as text.
#pragma once

#include "core/isa/unwind_record.h"

namespace clr {

// See Architecture::unwind_records.
std::vector<UnwindRecord> x64_unwind_records(MemoryReader& memory, Address function, Address base);

} // namespace clr
