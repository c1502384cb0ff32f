// The catalog of all managed code of a process: modules of debug information, one or more for each assembly,
// and which of them came or went since the stop before.
#pragma once

#include "core/describe/described_code.h"
#include "core/describe/omissions.h"
#include "core/memory/memory_range.h"
#include "core/runtime/runtime.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace clr {

// A module with the number by which it is withdrawn. Its names may still have to be made.
struct CatalogModule {
  std::uint64_t id = 0;
  DescribedModule module;
  bool unknown = false; // code without a description: CatalogOptions::grows, executable
};

// The same with its names.
struct SpelledModule {
  std::uint64_t id = 0;
  DebugModule module;
  bool unknown = false;
};

constexpr std::size_t max_named_stubs = 100'000;

struct CatalogOptions {
  bool lines = true;     // where symbols are found
  bool variables = true; // likewise
  bool r2r = true;       // ReadyToRun code, run or not
  bool stubs = true;     // precodes and the runtime's other stubs
  // The process runs on: the free part of code heaps is published too, as unknown code, because code that is
  // compiled there is stepped into before the next update.
  bool grows = false;
  // Executable memory, ascending, that belongs to no file. The parts of it that the runtime has in no
  // range section are published as unknown code.
  std::vector<MemoryRange> executable = {};
  // Code whose epilogues must be exact, beside all code with lines: where threads stand.
  std::vector<Address> exact;
  // Places in code that stands very often on one stack. Its arguments are described as local variables: a
  // debugger prints the values of arguments of each frame, and reads locals when they are asked for.
  std::vector<Address> repeated = {};
  std::function<bool()> stop = {}; // asked now and then; true gives up
  // Can the debugger read target memory at this address? Sections of ReadyToRun code where it cannot get
  // their bytes, from files. Empty: it can.
  std::function<bool(Address)> readable = {};
  // Takes each module as soon as it is whole but for its names; CatalogChange::added is empty then. Modules
  // that are gone must be withdrawn before the debugger is given these.
  std::function<void(CatalogModule)> made = {};
  // Pieces of described code of which modules are made before all code is described, so that whoever takes
  // them works meanwhile. Not fewer, because every module costs a debugger something.
  std::size_t codes_at_once = 12'000;
  // Stubs that have the names of their methods; tests set less.
  std::size_t named_stubs = max_named_stubs;
};

struct CatalogChange {
  std::vector<SpelledModule> added;
  std::vector<std::uint64_t> gone; // modules that hold code which was freed or replaced; withdraw them first
  std::size_t methods = 0;         // bodies in modules that were made
  bool complete = true;            // false: CatalogOptions::stop gave up; the next update goes on
  bool everything = false;         // all code was looked at, also by a call for a part of it
  std::vector<std::string> problems;
};

// Lives as long as the process; each stop brings a Runtime of its own.
class CodeCatalog {
public:
  CodeCatalog();
  ~CodeCatalog();

  // Describes the code that is new since the last call; all code the first time. Code that shares a module
  // with freed code is added anew. A call that gave up is continued by the next one. An Error ends as a
  // problem; other exceptions (memory of this process is out, a mistake of ours) pass: then nothing holds of
  // what was made, and the next call withdraws every module and begins anew. Cost: the range map and each
  // nibble map; 2 reads for each body of a code heap that changed or has dynamic methods; for each new body
  // that of its name, unwind data and debug info.
  CatalogChange update(Runtime& runtime, const CatalogOptions& options);
  // The body that holds `ip` alone, when it is not yet known: for code that was compiled just now.
  CatalogChange add(Runtime& runtime, Address ip, const CatalogOptions& options);
  // The bodies and stubs that hold `places` alone, as far as they are not known, and what update() does of
  // code that is interrupted or needs exact epilogues. When published code turns out to be out of date this
  // is update(). Cost: that of ExecutionManager::find for each place and of interrupted_codes; for each new
  // body as update().
  CatalogChange add(Runtime& runtime, std::span<const Address> places, const CatalogOptions& options);
  // Only what is unknown code by `options`.
  CatalogChange add_unknown(Runtime& runtime, const CatalogOptions& options);
  // The options of the next call may differ from those of the calls before, or symbols may be found where
  // there were none: it makes the modules anew that are concerned.
  void reconsider();
  // Forgets everything, as if nothing had been published.
  void clear();

  // The variables, types and ranges that published modules lack, with the reasons. Cost: no reads; linear in
  // the modules that lack something.
  Omissions omissions() const;

  static constexpr std::size_t max_bodies = 4'000'000;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads what the description of the code at `places` takes (SaveOptions::describe): for a runtime that
// records what is read. Cost: that of CodeCatalog::add.
void read_descriptions(Runtime& runtime, std::span<const Address> places);

} // namespace clr
