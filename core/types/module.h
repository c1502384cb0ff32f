// Module, Assembly and the PE image behind them, in the runtime's form.
// Source: dotnet/runtime docs/design/datacontracts/Loader.md; src/coreclr/vm/ceeload.h, peimagelayout.h.
#pragma once

#include "core/target/target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct Module {
  Address address = 0;
  Address assembly = 0;
  Address base = 0; // of the loaded image; 0 for modules without one
  std::uint32_t flags = 0;
  Address dynamic_metadata = 0; // DynamicMetadata; 0 none
  Address r2r_info = 0;         // ReadyToRunInfo; 0 none or unknown
  std::string path;             // empty: the module was made in memory, or lies inside a single file
  std::string file_name;        // last part of the path, or the name within a single file
  std::string simple_name;      // of the assembly; empty when the descriptor does not lead to it

  bool edit_and_continue() const { return (flags & 0x8) != 0; }
  bool reflection_emit() const { return (flags & 0x40) != 0; }
  // The module was compiled without optimisation, for the debugger. [rt] vm/ceeload.h,
  // DEBUGGER_ALLOW_JIT_OPTS_PRIV
  bool jit_optimization_disabled() const { return (flags & 0x800) == 0; }
  // The name to show to people: "app.dll"; "?" when nothing names the module.
  std::string display_name() const;
};

// The module at `address`. It is checked: its Assembly must lead back to it. Strings that cannot be read are
// empty, because no other fact depends on them. Throws Error{memory_missing, corrupt}. Cost: about 6 reads.
Module read_module(const Target& target, Address address);

// How the bytes of a PE image lie in memory.
struct ImageMapping {
  Address base = 0;
  std::uint32_t size = 0;     // bytes; 0 unknown
  std::optional<bool> mapped; // true: sections at their RVAs; false: the file's bytes; nothing: unknown
};

// The mapping of the image that the runtime loaded for `module`; base 0 when there is none (Reflection.Emit).
// Cost: 5 reads.
ImageMapping image_mapping(const Target& target, const Module& module);

// True when the module's ReadyToRun code is in an image of many assemblies. 1 read. Throws
// Error{memory_missing}.
bool is_composite(const Target& target, const Module& module);

// Modules of every assembly of the app domain, in loading order. Unreadable entries are skipped and counted.
struct AppDomainModules {
  std::vector<Address> modules;
  std::size_t holes = 0;
};
AppDomainModules modules_of_app_domain(const Target& target);

constexpr std::uint32_t max_assemblies = 100'000;

} // namespace clr
