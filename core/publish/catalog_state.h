// The memory of a catalog between updates: which code is published in which module, and which is left out.
#pragma once

#include "core/describe/omissions.h"
#include "core/publish/known_bodies.h"
#include "core/stack/interrupted_code.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace clr {

struct CatalogState {
  struct Heap {
    Address node = 0;
    std::uint64_t fingerprint = 0;
    bool dynamic = false; // holds methods that are freed one by one
  };
  struct Image {
    Address end = 0, module = 0;
  };
  // The choices that a module was made by.
  struct Made {
    Address owner = 0; // the runtime's Module; 0: none
    bool image = false, lines = false, variables = false;
  };
  // A stub that somebody asked for: it has the name of its method.
  struct NamedStub {
    Address end = 0, method_desc = 0;
    std::string name;
  };
  struct Span {
    Address end = 0;
    ModuleId module = no_module_id;
    bool unknown = false; // no code that is described
  };

  KnownBodies bodies;                       // jitted
  std::map<Address, Heap> heaps;            // wholly described code heaps, by begin of their section
  std::map<Address, Image> images;          // wholly described ReadyToRun sections, by begin
  std::map<Address, ModuleId> stubs;        // by begin
  std::map<Address, NamedStub> named_stubs; // parts of those in range lists, by begin; disjoint
  std::map<Address, Span> spans;            // sections of published modules, by begin; disjoint
  std::vector<InterruptedCode> interrupted; // as the modules say
  std::set<Address> exact;    // starts of bodies whose epilogues are described because a thread stood there
  std::set<Address> repeated; // starts of bodies whose arguments are described as locals
  ModuleId last_module = no_module_id;
  std::uint64_t updates = 0;
  // Modules that were taken out of `spans` and of which the caller was not yet told.
  std::vector<ModuleId> gone;
  std::map<ModuleId, Omissions> omissions; // of published modules that lack something
  std::map<ModuleId, Made> made;           // of published modules
  bool reconsider = false;                 // the caller's choices may be others than `made` tells
  std::map<Address, Omission> refused;     // ranges that are not published, by begin; max_refused at most

  // The body that started at `start` is gone: what is published there next is described as others are.
  void forget_choices(Address start) {
    exact.erase(start);
    repeated.erase(start);
  }

  // The published section that holds `address`, null if none.
  const Span* span_at(Address address) const;
  // It holds described code.
  bool describes(Address address) const;
  // Enters a range that is not published; `of` names the code in it.
  void refuse(Address begin, OmissionCause cause, std::string of, std::string text);
  // Forgets all refused ranges that begin in [begin, end).
  void forgive(Address begin, Address end);
  // All that is missing, of modules and of ranges.
  Omissions all_omissions() const;
  // An update ended in the middle: nothing of it holds. Everything that was published is gone by the next
  // one.
  void start_over();

  static constexpr std::size_t max_refused = 1'024;

  // Modules with a section that meets [begin, end).
  void modules_in(Address begin, Address end, std::set<ModuleId>& found) const;
  // The same without those of unknown code.
  void described_in(Address begin, Address end, std::set<ModuleId>& found) const;
};

} // namespace clr
