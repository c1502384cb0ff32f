// What a catalog remembers of the code that it has published.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

namespace clr {

using ModuleId = std::uint64_t;
constexpr ModuleId no_module_id = 0;

struct CatalogState {
  // A jitted body. What stands in its code header tells whether it is still the same.
  struct Body {
    Address method_desc = 0, code_header = 0;
    ModuleId module = no_module_id;
    Address heap = 0;       // begin of the range section
    std::uint64_t seen = 0; // the update that saw it last
  };
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
  };

  std::unordered_map<Address, Body> bodies; // by start
  std::map<Address, std::size_t> bodies_of; // how many of them a heap has, by begin of its section
  std::map<Address, Heap> heaps;            // wholly described code heaps, by begin of their section
  std::map<Address, Image> images;          // wholly described ReadyToRun sections, by begin
  std::map<Address, ModuleId> stubs;        // by begin
  std::map<Address, Span> spans;            // sections of published modules, by begin; disjoint
  ModuleId last_module = no_module_id;
  std::uint64_t updates = 0;

  // Enters a body, or another in its place.
  void add(Address start, const Body& body);
  // Forgets it; the next one.
  std::unordered_map<Address, Body>::iterator remove(std::unordered_map<Address, Body>::iterator body);
  // The published section that holds `address`, null if none.
  const Span* span_at(Address address) const;
  // Modules with a section that meets [begin, end).
  void modules_in(Address begin, Address end, std::set<ModuleId>& found) const;
};

} // namespace clr
