// All managed code of a process as modules of debug information, one or more for each assembly, and what came
// and went since the stop before.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/memory/memory_range.h"
#include "core/runtime/runtime.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace clr {

// A module with the number by which it is withdrawn.
struct CatalogModule {
  std::uint64_t id = 0;
  DebugModule module;
  bool unknown = false; // code that nothing describes: CatalogOptions::grows, executable
};

struct CatalogOptions {
  bool lines = true;     // where symbols are found
  bool variables = true; // likewise
  bool r2r = true;       // ReadyToRun code, run or not
  bool stubs = true;     // precodes and the runtime's other stubs
  // The process runs on: what code heaps have free is published too, as unknown code, since what is compiled
  // there is stepped into before the next update.
  bool grows = false;
  // Executable memory, ascending, that belongs to no file. What of it the runtime has in no range section is
  // published as unknown code.
  std::vector<MemoryRange> executable = {};
  // Code whose epilogues must be exact, beside all code with lines: where threads stand.
  std::vector<Address> exact;
  std::function<bool()> stop = {}; // asked now and then; true gives up
  // Can the debugger read target memory at this address? Sections of ReadyToRun code where it cannot get
  // their bytes, from files. Empty: it can.
  std::function<bool(Address)> readable = {};
  // Takes each module as soon as it is whole but for its names (spell_names); CatalogChange::added is empty
  // then. What is gone must be withdrawn before the debugger is given them.
  std::function<void(CatalogModule)> made = {};
  // Described code of which modules are made before all is described: what takes them works meanwhile. Every
  // module costs a debugger something.
  std::size_t codes_at_once = 12'000;
};

struct CatalogChange {
  std::vector<CatalogModule> added;
  std::vector<std::uint64_t> gone; // modules that hold code which was freed or replaced; withdraw them first
  std::size_t methods = 0;         // bodies in modules that were made
  bool complete = true;            // false: CatalogOptions::stop gave up; the next update goes on
  std::vector<std::string> problems;
};

// Lives as long as the process; each stop brings a Runtime of its own.
class CodeCatalog {
public:
  CodeCatalog();
  ~CodeCatalog();

  // What is new since the last call; everything the first time. Code that shares a module with freed code is
  // added anew. A call that gave up is continued by the next one. Never throws. Cost: the range map and each
  // nibble map; 2 reads for each body of a code heap that changed or has dynamic methods; for each new body
  // that of its name, unwind data and debug info.
  CatalogChange update(Runtime& runtime, const CatalogOptions& options);
  // The body that holds `ip` alone, when it is not yet known: for code that was compiled just now.
  CatalogChange add(Runtime& runtime, Address ip, const CatalogOptions& options);
  // Only what is unknown code by `options`.
  CatalogChange add_unknown(Runtime& runtime, const CatalogOptions& options);
  // Forgets everything, as if nothing had been published.
  void clear();

  static constexpr std::size_t max_bodies = 4'000'000;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
