// The core file behind a process of LLDB's.
#pragma once

#include "core/memory/elf_core.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <string>

namespace clr::lldb_plugin {

// True when `process` is a core file, not a live process.
bool is_core(lldb::SBProcess& process);

struct CoreFile {
  std::unique_ptr<ElfCore> core; // null when it could not be determined or opened
  std::string note;              // why not
};

// LLDB 19 names the file; of older ones it is the ELF core that this process has mapped or open and whose
// threads have the ids and registers that LLDB shows. Never throws.
CoreFile find_core_file(lldb::SBProcess& process);

} // namespace clr::lldb_plugin
