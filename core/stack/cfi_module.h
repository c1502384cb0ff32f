// The call frame information of one loaded module, taken from the target's memory.
// Source: Linux Standard Base, .eh_frame and .eh_frame_hdr; System V ABI, program headers.
#pragma once

#include "core/memory/byte_room.h"
#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"
#include "core/stack/cfi_row.h"

#include <memory>
#include <string>

namespace clr {

// Bytes of call frame information that are kept of all modules together. Of a module that has 5 MB of code it
// is 1 MB; those of the modules that stand on stacks are some tens.
constexpr std::uint64_t max_cfi_bytes = 256 << 20;
// What libdw may do for the rows of all modules together, in bytes of the programs that it runs
// (work_of_cfi_program, and their size again for looking them through). A row takes about 200; a stop has
// some thousands of rows.
constexpr std::uint64_t max_cfi_work = 128 << 20;

// What the modules of a target have in common.
struct CfiRoom {
  ByteRoom bytes{max_cfi_bytes};
  std::uint64_t work = 0; // that was done
};

class CfiModule {
public:
  // Reads the program headers of the image at `base` and its .eh_frame_hdr and .eh_frame. `room` must outlive
  // this. Cost: 3 reads and one for each MiB up to the end of its segment (at most max_eh_frame bytes, and
  // what `room` has left); what is missing at its end is missing for the functions described there only.
  // Where the search table is missing, out of order or in a rare form, every description is listed. Never
  // throws for target data: problem() says why there is nothing.
  CfiModule(MemoryReader& memory, Platform platform, Address base, CfiRoom& room);
  ~CfiModule();

  // The row for the instruction at `pc`; nothing when the module describes none. No reads. Throws
  // Error{corrupt} for a row that cannot be used, for a program beyond the limits of cfi_program.h, and when
  // all rows together took max_cfi_work.
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
