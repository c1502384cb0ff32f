// One walk over the heap for everything that asks who waits for whom: the objects of all types that are
// wanted, found together.
#pragma once

#include "core/heap/heap_walk.h"
#include "core/types/type_names.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

// A type, and what it is derived from.
struct TypeLineage {
  Address method_table = 0;
  bool known = false; // false: the type cannot be read, and nothing below says anything
  // "System.Threading.Tasks.Task`1"; "" for a type that the framework's libraries do not define, and for one
  // that has no name.
  SharedText name;
  const TypeLineage* base = nullptr; // null: none; valid as long as this
  // The type is one that a compiler makes of a method which waits or yields, or a generic one over such a
  // type.
  bool of_machine = false;
  SharedText fault; // why not all is known of the type itself; empty: all is

  // Whether `accepts` is true for the name of the type or of a base type, of max_base_types at most.
  template<typename Accepts>
  bool any_name(const Accepts& accepts) const {
    const TypeLineage* type = this;
    for (unsigned i = 0; i < max_base_types && type != nullptr && type->known; ++i, type = type->base)
      if (accepts(type->name.str())) return true;
    return false;
  }
  bool is(std::string_view full_name) const { return known && name.str() == full_name; }
  bool derives_from(std::string_view full_name) const; // or is it

  static constexpr unsigned max_base_types = 256;
};

// Whether a compiler gave the type its name when it made it of an async method or an iterator (C#, Visual
// Basic), or of code within one. Source: dotnet/roslyn, GeneratedNames.
bool is_machine_name(const TypeName& name);

// The lineages of types. One thread uses it at a time.
class TypeLineages {
public:
  // `types` must outlive this. No reads.
  explicit TypeLineages(TypeNames& types) : types_(&types) {}

  // Never throws: where a type cannot be read, its lineage ends. Kept, valid as long as this; types with the
  // same base types share these. Cost: that of TypeNames::type for each base type that was not met before.
  const TypeLineage& of(Address method_table);

  // Types of which not all is known, and why the first one is not: their objects may be missing in what is
  // chosen by lineages.
  std::size_t unreadable() const { return unreadable_; }
  const std::string& first_fault() const { return first_fault_; }

private:
  // With its base types, whether somebody asked for it or not.
  TypeLineage& known(Address method_table);
  TypeLineage& read(Address method_table, Address& parent);

  TypeNames* types_;
  std::unordered_map<Address, TypeLineage> known_;
  std::unordered_set<Address> asked_;
  std::unordered_map<std::string_view, SharedText> texts_; // each name once, by itself
  std::size_t unreadable_ = 0;
  std::string first_fault_;
};

struct FoundObject {
  Address address = 0, method_table = 0;
};

struct HeapPassResult {
  std::vector<std::vector<FoundObject>> found; // for each predicate, by ascending addresses
  std::vector<FoundObject> by_header;          // those that want_headers() asked for, in the same order
  std::vector<HeapGap> gaps;                   // places without objects, as those of walk_heap
  bool interrupted = false;                    // then objects are missing
  bool left_out = false;                       // there are more than max_found objects
};

class HeapPass {
public:
  // All must outlive this. No reads.
  HeapPass(const HeapMap& map, HeapTypes& types, TypeLineages& lineages)
      : map_(&map), types_(&types), lineages_(&lineages) {}

  // Objects of the types for which `wants` is true are collected. It is called once for each type, by one
  // thread at a time, and may read target memory then. Returns the index in HeapPassResult::found.
  using Wants = std::function<bool(const TypeLineage&)>;
  std::size_t want(Wants wants);

  // Objects for whose header `wants` is true are collected, too: the 32 bits before the object, which say who
  // holds its lock. It is called by several threads. Without a call no headers are looked at.
  using WantsHeader = std::function<bool(std::uint32_t header)>;
  void want_headers(WantsHeader wants) { wants_header_ = std::move(wants); }

  // Walks the heap, and does `others` on the way. Cost: that of walk_heap (twice with want_headers()), and
  // that of TypeLineages::of for each type of the heap.
  HeapPassResult run(const HeapWalkOptions& options = {}, unsigned threads = heap_threads(),
                     std::span<HeapWork* const> others = {});

  static constexpr std::size_t max_wants = 32;
  static constexpr std::size_t max_found = 16'000'000; // objects of one predicate

private:
  const HeapMap* map_;
  HeapTypes* types_;
  TypeLineages* lineages_;
  std::vector<Wants> wants_;
  WantsHeader wants_header_;
};

} // namespace clr
