// The code that holds given addresses, in the kinds that an update takes one after the other.
#pragma once

#include "core/execution/precode.h"
#include "core/publish/update_run.h"
#include "core/types/method.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace clr {

struct CodeAtPlaces {
  // Each body once, ascending; ip is the start.
  std::vector<CodeBlock> jitted, images;
  std::set<Address> stub_heaps;         // code heaps of which a stub was met, by begin of their section
  std::set<Address> stub_sections;      // range lists of stubs, and images of which a thunk was met, likewise
  std::vector<Precodes::Part> precodes; // of methods, each as often as it was met
  // Modules that hold code of `precodes` without their names: all that they describe is there still, and
  // their stubs are in stub_sections.
  std::set<ModuleId> renamed;
};

// Addresses in no managed code are left out; those that cannot be looked up become problems of `run`. Cost:
// that of ExecutionManager::find for each.
CodeAtPlaces code_at_places(UpdateRun& run, std::span<const Address> places);

// What a debugger calls a part of a precode of `method`: by the name of the method, of which it has
// max_stub_name bytes at most. Many precodes may lead to one method, and each has the name for itself.
std::string stub_name(const Method& method, const Precodes::Part& part);

constexpr std::size_t max_stub_name = 1024;

// Enters the names of `placed.precodes` into the state, and what has to be made anew for them into `placed`.
// Cost: that of Runtime::describe for each that has no name yet.
void name_precodes(UpdateRun& run, CodeAtPlaces& placed);

} // namespace clr
