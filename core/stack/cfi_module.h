// The call frame information of one loaded module, taken from the target's memory.
// Source: Linux Standard Base, .eh_frame and .eh_frame_hdr; System V ABI, program headers.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"
#include "core/stack/cfi_row.h"

#include <memory>
#include <string>

namespace clr {

class CfiModule {
public:
  // Reads the program headers of the image at `base` and its .eh_frame_hdr and .eh_frame. Cost: 3 reads and
  // one for each MiB up to the end of its segment (at most max_eh_frame bytes); what is missing at its end is
  // missing for the functions described there only. Never throws for target data: problem() says why there is
  // nothing.
  CfiModule(MemoryReader& memory, Platform platform, Address base);
  ~CfiModule();

  // The row for the instruction at `pc`; nothing when the module describes none. No reads. Throws
  // Error{corrupt} for a row that cannot be used.
  std::optional<CfiRow> row(Address pc) const;

  // Where the function begins that holds `pc`, by the search table of .eh_frame_hdr: the last description at
  // or before it. Nothing without such a table in its usual form, or when none begins there. No reads.
  std::optional<Address> function_start(Address pc) const;

  // Why the module has no call frame information; empty when it has some.
  const std::string& problem() const;
  // End of the last mapped segment; 0 when the program headers could not be read.
  Address end() const;

  static constexpr std::size_t max_eh_frame = 64 << 20, max_program_headers = 256;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
