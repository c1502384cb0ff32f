// The elements of the framework's collections, in the order in which the collection itself gives them.
// Source of the fields: dotnet/runtime
// src/libraries/System.{Private.CoreLib,Collections,Collections.Concurrent, Collections.Immutable};
// dotnet/fsharp src/FSharp.Core/prim-types.fs for F#'s list.
#pragma once

#include "core/objects/instance_reader.h"

#include <cstdint>
#include <functional>

namespace clr {

struct CollectionItem {
  // The key of a dictionary's entry; its type is null in other collections.
  TypeUsePtr key_type;
  Address key = 0;
  TypeUsePtr type; // never null
  Address at = 0;
};

// Slots, nodes and entries of one collection that are looked at, those without an element included.
constexpr std::uint64_t max_collection_steps = 10'000'000;

struct CollectionVisitor {
  // Called once, before the elements. A concurrent collection that is just being changed may have other
  // elements than it counts.
  std::function<void(std::uint64_t count)> count;
  // Called for each element; false ends the visit.
  std::function<bool(const CollectionItem& item)> item;
  // Elements that are left out before the first one is told; entries with keys are all told. Nothing is read
  // for those that stand side by side in an array or a span.
  std::uint64_t left_out = 0;
  std::uint64_t steps = max_collection_steps; // are looked at
  // Counted up at each of them, also of a visit that throws: visits may share a limit. Null: not wanted.
  std::uint64_t* looked_at = nullptr;
};

// Visits the elements of `instance`. False: it is no collection that is known here, and nothing was called.
// Throws Error for missing memory, for a collection that contradicts itself, and after `steps` of the
// visitor. Cost: 1 to 3 reads for each element.
bool visit_collection(InstanceReader& reader, const Instance& instance, const CollectionVisitor& visitor);

} // namespace clr
