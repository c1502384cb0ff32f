// Finds the runtimes of a process: the module of each, how its descriptor was found, and its version. Source:
// dotnet/runtime docs/design/datacontracts/contract-descriptor.md; src/coreclr/debug/runtimeinfo.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/target/contract_descriptor.h"
#include "core/target/descriptor_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class RuntimeKind : std::uint8_t { coreclr, native_aot, mono };
std::string_view to_string(RuntimeKind kind); // "CoreCLR", "NativeAOT", "Mono"

// How the data descriptor was found.
enum class DescriptorSource : std::uint8_t {
  module_symbols, // the source of the module list knew the address of the symbol
  memory_symbols, // looked up in the module's dynamic symbols in target memory
  file,           // put in place of the runtime's own: LocatedRuntime::descriptor has no address then
  dac_table,      // the runtime exports no descriptor, or an incomplete one: g_dacTable and known layouts
};
std::string_view to_string(DescriptorSource source);

struct LocatedRuntime {
  RuntimeKind kind = RuntimeKind::coreclr;
  LoadedModule module;
  DescriptorSource source = DescriptorSource::module_symbols;
  ContractDescriptor descriptor; // empty for Mono, and for NativeAOT programs that publish none
  // False while the runtime is mapped but has not created its application domain.
  bool started = false;
};

struct RuntimeSearch {
  std::vector<LocatedRuntime> runtimes; // CoreCLR first; of those, modules named like the runtime first
  std::vector<std::string> problems;    // modules that looked like a runtime but could not be read, and why

  // Those of one process; a program has one. CoreCLR comes before any other.
  static constexpr std::size_t max_runtimes = 8;
  static constexpr std::size_t max_problems = 64; // beyond these, they are counted
  // Bytes of headers, tables and symbols of all modules that are searched; a read counts as 64 at least. A
  // module takes about one KB.
  static constexpr std::uint64_t max_searched_bytes = 256u << 20;
  // Modules whose version is looked for in their images, because what they have is not supported.
  static constexpr unsigned max_versions = 4;
};

// Searches `modules`. `cpu` is that of the process, for runtimes whose descriptor does not state it. Never
// throws because of target data. `file`, which may be null, stands in for the descriptor of the module of its
// build; a problem tells when there is none. Cost: about 8 reads for a module named like the runtime; 4 for
// each other one when none of those has a descriptor. The search ends, and a problem says so, when there are
// max_runtimes, CoreCLR among them, and when it has read max_searched_bytes; descriptors share one
// DescriptorRoom.
RuntimeSearch locate_runtimes(MemoryReader& memory, const std::vector<LoadedModule>& modules, Cpu cpu,
                              const DescriptorFile* file = nullptr);

// The runtime's version, "10.0.12": from its descriptor, else from the path of its module, else from the
// version text in its image. Empty when none tells it. Cost: 0 reads, or one per 64 KiB of the module.
std::string runtime_version(MemoryReader& memory, const LocatedRuntime& runtime);
std::string runtime_version(MemoryReader& memory, const LoadedModule& module); // without the descriptor

} // namespace clr
