// The walks over the framework's collections, one function for each family. Only for collections.cpp, which
// knows which type is walked how, and other_collections.cpp.
#pragma once

#include "core/objects/collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace clr {

// One visit; every function below shows the elements of one family of collections.
class CollectionVisit {
public:
  CollectionVisit(InstanceReader& reader, const CollectionVisitor& visitor)
      : reader_(reader), visitor_(visitor) {}

  void list(const Instance& what) {
    const std::uint64_t count = counted(what, "_size");
    if (const Address items = reader_.reference(what, "_items"); count != 0) elements(items, 0, count);
  }

  // List by another field: the array itself, or any collection that wraps another.
  bool wrapped(const Instance& what, std::string_view name) {
    const Address inside = reader_.reference(what, name);
    if (inside == 0) return false;
    const Instance inner = reader_.of_object(inside);
    if (inner.layout.kind == TypeLayout::Kind::array && inner.layout.table.is_szarray()) {
      const InstanceReader::Vector vector = reader_.vector(inside);
      visitor_.count(vector.count);
      elements(inside, 0, vector.count);
      return true;
    }
    if (++wraps_ > max_wraps) throw_corrupt(inside, "collections that wrap each other too deeply");
    return any(inner);
  }

  void dictionary(const Instance& what) { hashed(what, true); }
  void hash_set(const Instance& what) { hashed(what, false); }
  void concurrent_stack(const Instance& what) {
    chain(reader_.reference(what, "_head"), "_value", "_next", false);
  }
  // The last node of these two holds nothing.
  void fsharp_list(const Instance& what) {
    chain(what.fields - reader_.target().pointer_size(), "head", "tail", true);
  }
  void immutable_stack(const Instance& what) {
    chain(what.fields - reader_.target().pointer_size(), "_head", "_tail", true);
  }
  void fsharp_map(const Instance& what) {
    fsharp_tree(what, [&](const Instance& node) { return pair(node, "k", "v"); });
  }
  void fsharp_set(const Instance& what) {
    fsharp_tree(what, [&](const Instance& node) { return field(node, "k"); });
  }
  // The field of the tree is called after a line of the library's source: "tree@690". A leaf is a node that
  // has no fields for what would hang from it.
  template<typename Show>
  void fsharp_tree(const Instance& what, const Show& show) {
    Address root = 0;
    for (const FieldLayout& part : what.layout.fields)
      if (!part.is_static && part.name.starts_with("tree"))
        root = reader_.target().read_pointer(what.fields + part.offset);
    std::uint64_t count = 0;
    tree(root, "left", "right", [&](const Instance&) { return ++count, true; });
    visitor_.count(count);
    tree(root, "left", "right", show);
  }
  // A part of an array; other owners of memory have no elements that are known here.
  void memory(const Instance& what) {
    const Address owner = reader_.reference(what, "_object");
    const auto length = static_cast<std::uint32_t>(reader_.integer(what, "_length"));
    const bool array = owner != 0 && reader_.of_object(owner).layout.kind == TypeLayout::Kind::array;
    visitor_.count(array ? length : 0);
    // The top bit says that the array is pinned.
    if (array)
      elements(owner, static_cast<std::uint32_t>(reader_.integer(what, "_index")) & INT32_MAX, length);
  }
  void span(const Instance& what) {
    const FieldPlace begin = reader_.field(what, "_reference");
    const auto length = static_cast<std::uint32_t>(reader_.integer(what, "_length"));
    const TypeUsePtr& element = begin.field->type->element;
    const std::uint32_t size = element ? reader_.objects().layouts().size_of(*element) : 0;
    visitor_.count(size == 0 ? 0 : length);
    const Address first = reader_.target().read_pointer(begin.at);
    if (size == 0) return;
    for (std::uint64_t i = leave_out(length); i < length; ++i)
      if (!item(element, first + i * size)) return;
  }
  void immutable_list(const Instance& what) {
    const Address root = reader_.reference(what, "_root");
    counted(reader_.of_object(root), "_count");
    tree(root, "_left", "_right", [&](const Instance& node) { return field(node, "_key"); });
  }
  void immutable_sorted_dictionary(const Instance& what) {
    counted(what, "_count");
    tree(reader_.reference(what, "_root"), "_left", "_right",
         [&](const Instance& node) { return pair(node, "_key", "_value"); });
  }

  void hashed(const Instance& what, bool pairs) {
    const auto used = static_cast<std::int32_t>(reader_.integer(what, "_count"));
    const auto freed = static_cast<std::int32_t>(reader_.integer(what, "_freeCount"));
    tell_count(std::int64_t{used} - freed, what.fields);
    const Address entries = reader_.reference(what, "_entries");
    if (used <= freed || entries == 0) return;
    const InstanceReader::Vector array = reader_.vector(entries);
    if (array.layout.element->kind != TypeUse::Kind::value || static_cast<std::uint32_t>(used) > array.count)
      throw_corrupt(entries, "a dictionary with more entries than its array");
    const TypeLayout& entry = reader_.objects().layouts().of(array.layout.element->method_table);
    constexpr std::int32_t last_in_chain = -1; // smaller values mark a free entry
    for (std::int32_t i = 0; i < used; ++i) {
      const Instance at{entry, array.at(static_cast<std::uint64_t>(i))};
      step(entries);
      if (static_cast<std::int32_t>(reader_.integer(at, pairs ? "next" : "Next")) < last_in_chain) continue;
      if (!(pairs ? pair(at, "key", "value") : field(at, "Value"))) return;
    }
  }

  // A ring: Queue.
  void queue(const Instance& what) {
    const std::uint64_t count = counted(what, "_size");
    const std::uint64_t head = reader_.integer(what, "_head");
    if (count == 0) return;
    const InstanceReader::Vector ring = reader_.vector(reader_.reference(what, "_array"));
    if (count > ring.count || head >= ring.count)
      throw_corrupt(ring.data, "a queue with more elements than its array");
    for (std::uint64_t i = leave_out(count); i < count; ++i)
      if (!item(ring.layout.element, ring.at((head + i) % ring.count))) return;
  }

  void stack(const Instance& what) {
    const std::uint64_t count = counted(what, "_size");
    if (count == 0) return;
    const InstanceReader::Vector array = reader_.vector(reader_.reference(what, "_array"));
    if (count > array.count) throw_corrupt(array.data, "a stack with more elements than its array");
    for (std::uint64_t i = count - leave_out(count); i-- > 0;)
      if (!item(array.layout.element, array.at(i))) return;
  }

  void linked_list(const Instance& what) {
    const std::uint64_t count = counted(what, "count");
    Address node = reader_.reference(what, "head");
    for (std::uint64_t i = 0; i < count && node != 0; ++i) {
      const Instance at = reader_.of_object(node);
      if (!field(at, "item")) return;
      node = reader_.reference(at, "next");
    }
  }

  // Nodes that end with null, without a count: it is found by going along them first.
  void chain(Address first, std::string_view value, std::string_view next, bool last_is_empty) {
    std::uint64_t count = 0;
    const auto follow = [&](const auto& visit) {
      // A node that the chain comes back to, if it is a loop: looked at further and further on.
      Address mark = first;
      std::uint64_t passed = 0, until_mark = 1;
      for (Address node = first; node != 0;) {
        const Instance at = reader_.of_object(node);
        step(node);
        const Address behind = reader_.reference(at, next);
        if (last_is_empty && behind == 0) return;
        if (!visit(at)) return;
        if (behind == mark) throw_corrupt(node, "a chain that leads back into itself");
        if (++passed == until_mark) {
          mark = node;
          passed = 0;
          until_mark *= 2;
        }
        node = behind;
      }
    };
    follow([&](const Instance&) {
      ++count;
      return true;
    });
    visitor_.count(count);
    follow([&](const Instance& at) { return field(at, value); });
  }

  // A search tree, from left to right, without recursion. `show` is called with each node.
  template<typename Show>
  void tree(Address root, std::string_view left, std::string_view right, const Show& show) {
    std::vector<Address> open;
    for (Address node = root; node != 0 || !open.empty();) {
      while (node != 0) {
        step(node);
        const Instance at = reader_.of_object(node);
        if (is_end_node(at)) break;
        if (open.size() >= max_tree_depth) throw_corrupt(node, "a tree that is too deep to be one");
        open.push_back(node);
        node = link(at, left);
      }
      if (open.empty()) return;
      const Instance at = reader_.of_object(open.back());
      open.pop_back();
      if (!show(at)) return;
      node = link(at, right);
    }
  }

  void sorted_set(const Instance& what) {
    counted(what, "count");
    tree(reader_.reference(what, "root"), "Left", "Right", [&](const Instance& node) {
      const FieldPlace value = reader_.field(node, "Item");
      return key_value_or_item(value.field->type, value.at);
    });
  }

  void concurrent_dictionary(const Instance& what) {
    const Instance tables = reader_.of_object(reader_.reference(what, "_tables"));
    const InstanceReader::Vector counts = reader_.vector(reader_.reference(tables, "_countPerLock"));
    std::int64_t count = 0;
    for (std::uint32_t i = 0; i < counts.count; ++i) {
      step(counts.data);
      count += static_cast<std::int32_t>(reader_.target().read_u32(counts.at(i)));
    }
    tell_count(count, counts.data);
    const InstanceReader::Vector buckets = reader_.vector(reader_.reference(tables, "_buckets"));
    for (std::uint32_t i = 0; i < buckets.count && count != 0; ++i) {
      step(buckets.data);
      // Each bucket is a structure that holds the reference, or the reference itself.
      for (Address node = reader_.target().read_pointer(buckets.at(i)); node != 0;) {
        step(node);
        const Instance at = reader_.of_object(node);
        if (!pair(at, "_key", "_value")) return;
        node = reader_.reference(at, "_next");
      }
    }
  }

  void concurrent_queue(const Instance& what) {
    struct Part {
      InstanceReader::Vector slots;
      std::uint64_t head = 0, count = 0, mask = 0;
    };
    std::vector<Part> parts;
    std::uint64_t count = 0;
    for (Address segment = reader_.reference(what, "_head"); segment != 0;) {
      step(segment);
      const Instance at = reader_.of_object(segment);
      Part part{.slots = reader_.vector(reader_.reference(at, "_slots")),
                .mask = reader_.integer(at, "_slotsMask")};
      const Instance ends = reader_.inner(at, "_headAndTail");
      part.head = static_cast<std::uint32_t>(reader_.integer(ends, "Head"));
      auto tail = static_cast<std::uint32_t>(reader_.integer(ends, "Tail"));
      // A segment that takes no more has its tail moved on by twice its length.
      if (reader_.number(ElementType::boolean, reader_.field(at, "_frozenForEnqueues").at) != 0)
        tail -= 2 * part.slots.count;
      part.count = static_cast<std::uint32_t>(tail - static_cast<std::uint32_t>(part.head));
      if (part.count > part.slots.count || part.mask >= part.slots.count)
        throw_corrupt(segment, "a part of a queue with more elements than its array");
      count += part.count;
      if (parts.size() == max_queue_parts) throw_corrupt(segment, "a queue of too many parts");
      parts.push_back(part);
      segment = reader_.reference(at, "_nextSegment");
    }
    visitor_.count(count);
    for (const Part& part : parts) {
      if (part.count == 0) continue;
      const TypeLayout& slot = reader_.objects().layouts().of(part.slots.layout.element->method_table);
      for (std::uint64_t i = 0; i < part.count; ++i)
        if (!field({slot, part.slots.at((part.head + i) & part.mask)}, "Item")) return;
    }
  }

  void priority_queue(const Instance& what) {
    const std::uint64_t count = counted(what, "_size");
    if (count != 0) elements(reader_.reference(what, "_nodes"), 0, count);
  }

  void array_segment(const Instance& what) {
    const std::uint64_t count = counted(what, "_count");
    if (count != 0) elements(reader_.reference(what, "_array"), reader_.integer(what, "_offset"), count);
  }

  // The buckets of ImmutableDictionary and ImmutableHashSet: a tree of buckets, each with one value and a
  // list of those with the same hash code.
  void immutable_buckets(const Instance& what) {
    counted(what, "_count");
    tree(reader_.reference(what, "_root"), "_left", "_right", [&](const Instance& node) {
      const Instance bucket = reader_.inner(node, "_value");
      const FieldPlace first = reader_.field(bucket, "_firstValue");
      if (!key_value_or_item(first.field->type, first.at)) return false;
      bool goes_on = true;
      tree(reader_.reference(bucket, "_additionalElements"), "_left", "_right", [&](const Instance& more) {
        const FieldPlace value = reader_.field(more, "_key");
        return goes_on = key_value_or_item(value.field->type, value.at);
      });
      return goes_on;
    });
  }

  // In other_collections.cpp.
  void sorted_list(const Instance& what);
  void hashtable(const Instance& what);
  void ordered_dictionary(const Instance& what);
  void immutable_queue(const Instance& what);
  void concurrent_bag(const Instance& what);
  void grouping(const Instance& what);
  // False: a form of theirs that keeps its elements otherwise.
  bool frozen_dictionary(const Instance& what);
  bool frozen_set(const Instance& what);

  bool any(const Instance& what);

private:
  bool expression(const Instance& what);

  static constexpr unsigned max_wraps = 8;
  static constexpr std::size_t max_tree_depth = 128;
  static constexpr std::size_t max_queue_parts = 10'000;
  static constexpr std::size_t max_queue_nodes = 1'000'000; // of an immutable queue

  void step(Address at) {
    if (visitor_.looked_at != nullptr) ++*visitor_.looked_at;
    if (++steps_ > visitor_.steps)
      throw_corrupt(at, fmt::format("a collection of more than {} parts", visitor_.steps));
  }

  // How many of the next `count` elements are left out.
  std::uint64_t leave_out(std::uint64_t count) {
    const std::uint64_t out = std::min(count, visitor_.left_out - left_out_);
    left_out_ += out;
    return out;
  }

  // Where a node leads to; 0 of a leaf of F#'s, which has no such field.
  Address link(const Instance& node, std::string_view name) {
    if (node.layout.text.starts_with("Microsoft.FSharp.") && !reader_.find(node, name)) return 0;
    return reader_.reference(node, name);
  }

  void tell_count(std::int64_t count, Address at) {
    if (count < 0) throw_corrupt(at, "a collection with fewer than no elements");
    visitor_.count(static_cast<std::uint64_t>(count));
  }

  std::uint64_t counted(const Instance& what, std::string_view name) {
    const auto count = static_cast<std::int64_t>(reader_.integer(what, name));
    tell_count(count, what.fields);
    return static_cast<std::uint64_t>(count);
  }

  bool item(const TypeUsePtr& type, Address at) {
    step(at);
    if (leave_out(1) != 0) return true;
    return visitor_.item({.key_type = nullptr, .type = type, .at = at});
  }
  bool entry(const TypeUsePtr& key_type, Address key, const TypeUsePtr& type, Address at) {
    step(at);
    return visitor_.item({.key_type = key_type, .key = key, .type = type, .at = at});
  }
  bool field(const Instance& what, std::string_view name) {
    const FieldPlace place = reader_.field(what, name);
    return item(place.field->type, place.at);
  }
  bool pair(const Instance& what, std::string_view key, std::string_view value) {
    const FieldPlace first = reader_.field(what, key), second = reader_.field(what, value);
    return entry(first.field->type, first.at, second.field->type, second.at);
  }
  // A KeyValuePair is an entry of a dictionary.
  bool key_value_or_item(const TypeUsePtr& type, Address at) {
    if (type->kind == TypeUse::Kind::value && type->method_table != 0) {
      const TypeLayout& layout = reader_.objects().layouts().of(type->method_table);
      if (framework_type_name(*layout.name) == "System.Collections.Generic.KeyValuePair`2")
        return pair({layout, at}, "key", "value");
    }
    return item(type, at);
  }

  // The leaves of an immutable collection lead to a node that holds nothing: its height is 0.
  bool is_end_node(const Instance& node) {
    const auto height = reader_.find(node, "_height");
    return height && reader_.number(height->field->type->number, height->at) == 0;
  }

  void elements(Address array, std::uint64_t first, std::uint64_t count) {
    const InstanceReader::Vector vector = reader_.vector(array);
    if (first > vector.count || count > vector.count - first)
      throw_corrupt(array, "a list with more elements than its array");
    for (std::uint64_t i = leave_out(count); i < count; ++i)
      if (!item(vector.layout.element, vector.at(first + i))) return;
  }

  InstanceReader& reader_;
  const CollectionVisitor& visitor_;
  std::uint64_t steps_ = 0, left_out_ = 0;
  unsigned wraps_ = 0;
};

} // namespace clr
