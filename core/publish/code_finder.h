// The first phase of an update: compares the code of the process with what is published.
#pragma once

#include "core/publish/catalog_phases.h"
#include "core/publish/code_at_places.h"
#include "core/publish/update_run.h"

#include <optional>
#include <set>

namespace clr {

class CodeFinder {
public:
  // `run` must outlive this. No reads.
  explicit CodeFinder(UpdateRun& run) : run_(run), code_(run.code) {}

  // One of these, once, but for what at() says of CodeAtPlaces. Parts of the process that cannot be read
  // become problems of the run.

  // All of it: new jitted code and stubs; modules that hold freed or replaced code, code that a fault
  // interrupts now or did so before, or code whose epilogues must be exact from now on. A walk that gives up
  // compares nothing, since code that was not looked at is not gone.
  FoundCode everything();
  // The jitted body that holds `ip`, when it is not known yet.
  FoundCode at(const CodeBlock& block);
  // The jitted bodies and the stubs of heaps in `placed` that are not known yet, and the code that a fault
  // interrupts now. Nothing when something that is published is out of date: then everything() may be asked,
  // and tells of that too.
  std::optional<FoundCode> at(const CodeAtPlaces& placed);
  // For an update that describes nothing.
  FoundCode nothing() { return std::move(found_); }

private:
  void find_heaps();
  void find_heap(const RangeSection& section);
  void find_stub(const RangeSection& section, const StubBlock& stub);
  bool is_known(const JittedBody& body);
  // Modules that describe other code where `block` lies now.
  void find_replaced(const CodeBlock& block);
  void find_freed();
  void find_freed_bodies(const std::set<Address>& live);
  void find_unwanted();
  void find_repeated();
  void find_interrupted();
  void find_epilogues();
  // The module that holds the code at `ip` is out of date.
  void outdate_at(Address ip);

  UpdateRun& run_;
  ExecutionManager& code_;
  FoundCode found_;
  std::set<Address> walked_; // code heaps that lost bodies, all seen, by begin of their section
  WalkLimit walk_;
  std::size_t seen_ = 0;        // known bodies met in the heap that is being walked
  std::set<ModuleId> unwanted_; // by the caller's choices; all that they describe is there still
  bool faults_found_ = false;
};

} // namespace clr
