// Dominators of the objects that roots reach: every way from a root to an object leads over its dominators,
// so that it dies with each of them. Source: L. Georgiadis, Linear-Time Algorithms for Dominators and Related
// Problems (the algorithm SEMI-NCA).
#pragma once

#include "core/heap/heap_graph.h"

#include <span>
#include <vector>

namespace clr {

// Roots that go together, such as those of one thread: a group dominates what all ways from outside of the
// heap lead over.
struct HeapRootGroups {
  std::vector<std::uint32_t> of_root; // by the index of a root: its group, below `count`
  std::uint32_t count = 0;
  // By object, or empty: objects whose references do not count, because what they refer to is a root of its
  // own: the arrays of static fields.
  std::vector<bool> cut;
};

class HeapDominators {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  // Of the objects that `roots` (numbers of objects) reach. Makes the references of `graph` in the other
  // direction. Calls `progress` as HeapWalkOptions. No reads, no recursion; 25 bytes for each object while it
  // runs, 12 afterwards.
  // With `groups`, these have numbers behind those of all objects, and are among what is asked for and
  // answered.
  HeapDominators(HeapGraph& graph, std::span<const std::uint32_t> roots, const HeapWalkOptions& options = {},
                 const HeapRootGroups* groups = nullptr);

  bool interrupted() const { return interrupted_; }
  std::uint32_t reached_count() const { return static_cast<std::uint32_t>(objects_.size()) - 1; }
  bool reached(std::uint32_t object) const { return places_[object] != 0; }
  // The object over which every way leads to `object`, the nearest one; none for one that was not reached,
  // and for one that several roots, or ways from them, reach.
  std::uint32_t dominator(std::uint32_t object) const {
    const std::uint32_t above = places_[object] == 0 ? 0 : dominators_[places_[object]];
    return above == 0 ? none : objects_[above];
  }
  // Calls `visit` with every reached object and its dominator (none), each after all objects that it
  // dominates. `soon` is called with each object some steps before it is visited.
  template<typename Visit, typename Soon>
  void for_each_upward(const Visit& visit, const Soon& soon) const {
    for (std::uint32_t place = static_cast<std::uint32_t>(objects_.size()) - 1; place > 0; --place) {
      if (place > look_ahead) soon(objects_[place - look_ahead]);
      visit(objects_[place], dominators_[place] == 0 ? none : objects_[dominators_[place]]);
    }
  }
  template<typename Visit>
  void for_each_upward(const Visit& visit) const {
    for_each_upward(visit, [](std::uint32_t) {});
  }

private:
  class Builder;
  static constexpr std::uint32_t look_ahead = 16;
  // A place is the order in which an object was met, from 1; 0 stands for what holds the roots.
  LargeArray<std::uint32_t> places_;     // by object; 0: not reached
  LargeArray<std::uint32_t> objects_;    // by place
  LargeArray<std::uint32_t> dominators_; // by place, the place of the dominator
  bool interrupted_ = false;
};

} // namespace clr
