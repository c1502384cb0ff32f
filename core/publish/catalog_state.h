// What a catalog remembers of the code that it has published.
#pragma once

#include "core/publish/known_bodies.h"
#include "core/stack/interrupted_code.h"

#include <cstdint>
#include <map>
#include <set>
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
  struct Span {
    Address end = 0;
    ModuleId module = no_module_id;
    bool unknown = false; // no code that is described
  };

  KnownBodies bodies;                       // jitted
  std::map<Address, Heap> heaps;            // wholly described code heaps, by begin of their section
  std::map<Address, Image> images;          // wholly described ReadyToRun sections, by begin
  std::map<Address, ModuleId> stubs;        // by begin
  std::map<Address, Span> spans;            // sections of published modules, by begin; disjoint
  std::vector<InterruptedCode> interrupted; // as the modules say
  std::set<Address> exact; // starts of bodies whose epilogues are described because a thread stood there
  ModuleId last_module = no_module_id;
  std::uint64_t updates = 0;

  // The published section that holds `address`, null if none.
  const Span* span_at(Address address) const;
  // It holds described code.
  bool describes(Address address) const;
  // Modules with a section that meets [begin, end).
  void modules_in(Address begin, Address end, std::set<ModuleId>& found) const;
};

} // namespace clr
