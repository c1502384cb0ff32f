// The jitted bodies that a catalog has described. Each heap has a list of them in the order of addresses,
// because walks over heaps and modules ask for one after the other.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace clr {

using ModuleId = std::uint64_t;
constexpr ModuleId no_module_id = 0;

class KnownBodies {
public:
  // The two words of its code header tell whether a body is still the same.
  struct Body {
    Address start = 0;
    Address method_desc = 0, code_header = 0;
    ModuleId module = no_module_id;
    std::uint64_t seen = 0; // the update that saw it last
  };

  // The body that starts at `start` in a heap, which is called by the begin of its section; null if none.
  // Valid until a body is added or removed. Cost: constant for the next one in order, else logarithmic.
  Body* find(Address heap, Address start);
  // The same without the heap: of those that begin at or before `start`, the last one that has it. Cost:
  // logarithmic, also where there is none.
  Body* find(Address start);
  // Enters a body, or another in its place.
  void add(Address heap, const Body& body);
  void remove(Address heap, Address start);
  // Removes those of which `gone` tells so.
  void remove_if(const std::function<bool(Address heap, const Body&)>& gone);

  std::size_t size() const { return size_; }
  std::size_t size(Address heap) const;
  // Does `tells` say so of a heap that has bodies?
  bool any_heap(const std::function<bool(Address)>& tells) const;
  template<typename Visit>
  void for_each(const Visit& visit) {
    for (auto& [begin, heap] : heaps_)
      for (Body& body : heap.bodies) visit(begin, body);
  }

private:
  struct Heap {
    std::vector<Body> bodies; // ascending
    std::size_t next = 0;     // behind the one that was found last
  };
  using Heaps = std::map<Address, Heap>;
  static Body* find_in(Heap& heap, Address start);
  Heaps::iterator heap_at(Address begin); // which it makes when there is none

  Heaps heaps_;
  // Bodies, by start and heap, behind the begin of another heap that is nearer to them: only where the map of
  // sections lies. Those before their own heap are in none.
  std::set<std::pair<Address, Address>> strays_;
  std::size_t size_ = 0;
};

} // namespace clr
