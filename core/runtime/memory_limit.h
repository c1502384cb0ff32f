// The most memory that the managed heap of a process may fill.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/objects/object_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The value of a variable of the process' environment, as it was at the start. It lies with the others right
// below the name of the program, whose address the kernel gives (AT_EXECFN); 0: not known. Nothing when it is
// not there. Never throws. Source: Linux, fs/binfmt_elf.c, fs/exec.c. Cost: 1 read for each page, at most
// max_environment_bytes.
std::optional<std::string> environment_value(MemoryReader& memory, Address program_name,
                                             std::string_view name);
constexpr std::size_t max_environment_bytes = 256 * 1024;

constexpr std::uint64_t max_configuration_settings = 10'000; // of runtimeconfig.json that are looked at

struct HeapLimit {
  std::uint64_t bytes = 0;
  std::string source; // what says so: "DOTNET_GCHeapHardLimit"
};

// The hard limit of the heap: by the environment, by the program's configuration (runtimeconfig.json); else,
// where the runtime has seen at a full collection that memory is scarce, three quarters of what the container
// or the machine has, which is the limit that the collector sets itself in a container. Nothing when none is
// known; of what could not be looked at, a sentence is added to `missing`. Never throws. Cost: that of
// environment_value and of CoreLibrary, and some reads for each setting. Source: dotnet/runtime
// src/coreclr/gc/{gcconfig.h,gc.cpp},
// src/libraries/System.Private.CoreLib/src/System/Threading/PortableThreadPool.cs.
std::optional<HeapLimit> heap_limit(ObjectReader& objects, Address program_name,
                                    std::vector<std::string>& missing);

} // namespace clr
