#include "core/objects/collections.h"

#include "core/objects/collection_visit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace clr {
namespace {

struct KnownCollection {
  std::string_view type;
  void (CollectionVisit::*show)(const Instance&);
};

constexpr std::array known_collections{
    KnownCollection{"System.Collections.Generic.List`1", &CollectionVisit::list},
    KnownCollection{"System.Collections.Generic.Dictionary`2", &CollectionVisit::dictionary},
    KnownCollection{"System.Collections.Generic.HashSet`1", &CollectionVisit::hash_set},
    KnownCollection{"System.Collections.Generic.Queue`1", &CollectionVisit::queue},
    KnownCollection{"System.Collections.Generic.Stack`1", &CollectionVisit::stack},
    KnownCollection{"System.Collections.Generic.LinkedList`1", &CollectionVisit::linked_list},
    KnownCollection{"System.Collections.Generic.SortedSet`1", &CollectionVisit::sorted_set},
    KnownCollection{"System.Collections.Generic.SortedList`2", &CollectionVisit::sorted_list},
    KnownCollection{"System.Collections.Generic.PriorityQueue`2", &CollectionVisit::priority_queue},
    KnownCollection{"System.Collections.Concurrent.ConcurrentDictionary`2",
                    &CollectionVisit::concurrent_dictionary},
    KnownCollection{"System.Collections.Concurrent.ConcurrentQueue`1", &CollectionVisit::concurrent_queue},
    KnownCollection{"System.Collections.Concurrent.ConcurrentStack`1", &CollectionVisit::concurrent_stack},
    KnownCollection{"System.Collections.Concurrent.ConcurrentBag`1", &CollectionVisit::concurrent_bag},
    KnownCollection{"System.Collections.Generic.OrderedDictionary`2", &CollectionVisit::ordered_dictionary},
    KnownCollection{"System.Collections.ArrayList", &CollectionVisit::list},
    KnownCollection{"System.Collections.Hashtable", &CollectionVisit::hashtable},
    KnownCollection{"System.Collections.Queue", &CollectionVisit::queue},
    KnownCollection{"System.Collections.Stack", &CollectionVisit::stack},
    KnownCollection{"System.Collections.SortedList", &CollectionVisit::sorted_list},
    KnownCollection{"System.Linq.Grouping`2", &CollectionVisit::grouping},
    KnownCollection{"System.ArraySegment`1", &CollectionVisit::array_segment},
    KnownCollection{"System.Collections.Immutable.ImmutableQueue`1", &CollectionVisit::immutable_queue},
    KnownCollection{"System.Collections.Immutable.ImmutableStack`1", &CollectionVisit::immutable_stack},
    KnownCollection{"System.Collections.Immutable.ImmutableList`1", &CollectionVisit::immutable_list},
    KnownCollection{"System.Collections.Immutable.ImmutableSortedSet`1", &CollectionVisit::immutable_list},
    KnownCollection{"System.Collections.Immutable.ImmutableSortedDictionary`2",
                    &CollectionVisit::immutable_sorted_dictionary},
    KnownCollection{"System.Collections.Immutable.ImmutableDictionary`2",
                    &CollectionVisit::immutable_buckets},
    KnownCollection{"System.Collections.Immutable.ImmutableHashSet`1", &CollectionVisit::immutable_buckets},
    KnownCollection{"System.Memory`1", &CollectionVisit::memory},
    KnownCollection{"System.ReadOnlyMemory`1", &CollectionVisit::memory},
    KnownCollection{"System.Span`1", &CollectionVisit::span},
    KnownCollection{"System.ReadOnlySpan`1", &CollectionVisit::span},
    KnownCollection{"Microsoft.FSharp.Collections.FSharpList`1", &CollectionVisit::fsharp_list},
    KnownCollection{"Microsoft.FSharp.Collections.FSharpMap`2", &CollectionVisit::fsharp_map},
    KnownCollection{"Microsoft.FSharp.Collections.FSharpSet`1", &CollectionVisit::fsharp_set},
};

// Collections that only wrap another one, by the field that holds it.
constexpr std::array wrappers{
    std::pair<std::string_view, std::string_view>{"System.Collections.Generic.SortedDictionary`2", "_set"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ObjectModel.Collection`1", "items"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ObjectModel.ReadOnlyCollection`1",
                                                  "list"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ObjectModel.ReadOnlyDictionary`2",
                                                  "m_dictionary"},
    std::pair<std::string_view, std::string_view>{"System.Collections.Immutable.ImmutableArray`1", "array"},
    std::pair<std::string_view, std::string_view>{"System.Collections.Concurrent.BlockingCollection`1",
                                                  "_collection"},
    std::pair<std::string_view, std::string_view>{"System.Collections.Specialized.StringCollection", "data"},
    // These are derived from what they wrap, and have fields of it that nobody fills.
    std::pair<std::string_view, std::string_view>{"System.Collections.Hashtable+SyncHashtable", "_table"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ArrayList+SyncArrayList", "_list"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ArrayList+FixedSizeArrayList", "_list"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ArrayList+ReadOnlyArrayList", "_list"},
    std::pair<std::string_view, std::string_view>{"System.Collections.ArrayList+IListWrapper", "_list"},
    std::pair<std::string_view, std::string_view>{"System.Collections.Queue+SynchronizedQueue", "_q"},
    std::pair<std::string_view, std::string_view>{"System.Collections.Stack+SyncStack", "_s"},
    std::pair<std::string_view, std::string_view>{"System.Collections.SortedList+SyncSortedList", "_list"},
};

// What becomes of `[1, 2]` where an interface is wanted (C# 12). Source: dotnet/roslyn
// src/Compilers/CSharp/Portable/Symbols/Synthesized/SynthesizedReadOnlyListTypeSymbol.cs.
constexpr std::string_view single_element = "<>z__ReadOnlySingleElementList`1";
constexpr std::array compiler_lists{std::string_view("<>z__ReadOnlyArray`1"),
                                    std::string_view("<>z__ReadOnlyList`1")};

} // namespace

bool CollectionVisit::expression(const Instance& what) {
  const std::string name = compiler_type_name(*what.layout.name);
  if (name == single_element) {
    visitor_.count(1);
    if (leave_out(1) == 0) field(what, "_item");
    return true;
  }
  return std::ranges::find(compiler_lists, name) != compiler_lists.end() && wrapped(what, "_items");
}

bool CollectionVisit::any(const Instance& what) {
  if (expression(what)) return true;
  const TypeLayout* layout = &what.layout;
  // A class of the user's that is derived from a collection is one.
  for (unsigned i = 0; i < TypeLayouts::max_base_types; ++i) {
    if (const std::string name = framework_type_name(*layout->name); !name.empty()) {
      for (const KnownCollection& one : known_collections)
        if (one.type == name) return (this->*one.show)(what), true;
      for (const auto& [type, inner] : wrappers)
        if (type == name) return wrapped(what, inner);
      if (name == "System.Collections.Frozen.FrozenDictionary`2") return frozen_dictionary(what);
      if (name == "System.Collections.Frozen.FrozenSet`1") return frozen_set(what);
    }
    if (layout->table.parent == 0 || layout->kind == TypeLayout::Kind::value) return false;
    layout = &reader_.objects().layouts().of(layout->table.parent);
  }
  return false;
}

bool visit_collection(InstanceReader& reader, const Instance& instance, const CollectionVisitor& visitor) {
  return CollectionVisit(reader, visitor).any(instance);
}

} // namespace clr
