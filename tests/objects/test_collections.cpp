#include "core/memory/counting_reader.h"
#include "core/objects/inspected_object.h"
#include "core/objects/object_path.h"
#include "tests/objects/framework_types.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Scene {
  explicit Scene(const Platform& platform) : r(platform), types(r), view(r) {}
  std::string text(Address object) { return view.objects.describe_object(object); }
  // The text of a structure in a box, without the type of the box.
  std::string boxed(Address object) {
    const std::string all = text(object);
    return all.starts_with('(') ? all.substr(all.find(") ") + 2) : all;
  }
  Address string(std::u16string_view text) { return r.string(text); }

  ObjectRuntime r;
  FrameworkTypes types;
  ObjectView view;
};

template<typename Check>
void on_each(const Check& check) {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Scene scene(platform);
      check(scene);
    }
  }
}

} // namespace

TEST_CASE("queues and stacks", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address ring = t.numbers({4, 0, 2, 3});
    CHECK(s.text(t.make("Queue`1", {{"_array", ring}, {"_head", 2}, {"_size", 3}})) == "Count = 3 {2, 3, 4}");
    CHECK(s.text(t.make("Queue`1", {})) == "Count = 0");
    CHECK_THAT(s.text(t.make("Queue`1", {{"_array", ring}, {"_head", 4}, {"_size", 3}})),
               Catch::Contains("more elements than its array"));
    CHECK_THAT(s.text(t.make("Queue`1", {{"_array", ring}, {"_size", 0xffff'ffff}})),
               Catch::Contains("fewer than no elements"));
    CHECK(s.text(t.make("Stack`1", {{"_array", t.numbers({1, 2, 3, 9})}, {"_size", 3}})) ==
          "Count = 3 {3, 2, 1}");
    CHECK(s.text(t.make("PriorityQueue`2", {{"_nodes", t.numbers({7, 8, 9})}, {"_size", 2}})) ==
          "Count = 2 {7, 8}");
    CHECK(s.boxed(t.make("ArraySegment`1",
                         {{"_array", t.numbers({1, 2, 3, 4})}, {"_offset", 1}, {"_count", 2}})) ==
          "Count = 2 {2, 3}");
    CHECK_THAT(
        s.boxed(t.make("ArraySegment`1", {{"_array", t.numbers({1, 2})}, {"_offset", 1}, {"_count", 2}})),
        Catch::Contains("more elements than its array"));
  });
}

TEST_CASE("an element is found by its number", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const auto at = [&](Address object, std::string_view path) {
      const ValuePlace place = follow_path(s.view.objects, object, path);
      return s.view.objects.describe_value(*place.type, place.at);
    };
    const Address queue =
        t.make("Queue`1", {{"_array", t.numbers({4, 0, 2, 3})}, {"_head", 2}, {"_size", 3}});
    CHECK(at(queue, "[0]") == "2");
    CHECK(at(queue, "[2]") == "4");
    CHECK_THROWS_WITH(at(queue, "[3]"), Catch::Contains("no such element among the 3 of"));
    CHECK_THROWS_WITH(at(queue, "[-1]"), Catch::Contains("no such element among the 3 of"));
    const Address stack = t.make("Stack`1", {{"_array", t.numbers({1, 2, 3, 9})}, {"_size", 3}});
    CHECK(at(stack, "[0]") == "3");
    CHECK(at(stack, "[2]") == "1");
    CHECK(at(t.make("ArraySegment`1", {{"_array", t.numbers({1, 2, 3, 4})}, {"_offset", 1}, {"_count", 2}}),
             "[1]") == "3");
    const Address last = t.make("LinkedListNode`1", {{"item", 6}});
    const Address first = t.make("LinkedListNode`1", {{"item", 5}, {"next", last}});
    CHECK(at(t.make("LinkedList`1", {{"head", first}, {"count", 2}}), "[1]") == "6");
  });
}

TEST_CASE("an element of a long span is found without those before it", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address data = s.r.elements_of(t.numbers({1}));
    const Address span = t.make("Span`1", {{"_reference", data}, {"_length", 0xffff'ffff}});
    CHECK(follow_path(s.view.objects, span, "[4000000000]").at == data + 16'000'000'000);
    CHECK(fault_of([&] { follow_path(s.view.objects, span, "[4294967295]"); }));
    CHECK(fault_of([&] { follow_path(s.view.objects, span, "[\"text\"]"); }));
  });
}

TEST_CASE("linked nodes", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address second = t.make("LinkedListNode`1", {{"item", 6}});
    const Address first = t.make("LinkedListNode`1", {{"item", 5}, {"next", second}});
    CHECK(s.text(t.make("LinkedList`1", {{"head", first}, {"count", 2}})) == "Count = 2 {5, 6}");

    const Address bottom = t.make("Node", {{"_value", 1}});
    const Address top = t.make("Node", {{"_value", 2}, {"_next", bottom}});
    CHECK(s.text(t.make("ConcurrentStack`1", {{"_head", top}})) == "Count = 2 {2, 1}");
    CHECK(s.text(t.make("ConcurrentStack`1", {})) == "Count = 0");

    const Address end = t.make("FSharpList`1", {});
    const Address list = t.make("FSharpList`1", {{"head", 3}, {"tail", end}});
    CHECK(s.text(t.make("FSharpList`1", {{"head", 2}, {"tail", list}})) == "Count = 2 {2, 3}");
    CHECK(s.text(end) == "Count = 0");
  });
}

TEST_CASE("nodes that lead back into themselves are told soon", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const auto cost_of = [&](Address object) {
      CountingReader reads(s.r.memory);
      ObjectView view(s.r, reads);
      CHECK_THAT(view.objects.describe_object(object),
                 Catch::Contains("leads back into itself") || Catch::Contains("a queue of too many parts"));
      return reads.reads();
    };
    const Address last = t.make("Node", {{"_value", 1}});
    Address first = last;
    for (unsigned i = 0; i < 20; ++i) first = t.make("Node", {{"_value", 2}, {"_next", first}});
    s.r.memory.write_integer(t.place("Node", last, "_next"), t.make("Node", {{"_next", last}}),
                             s.r.runtime.pointer());
    CHECK(cost_of(t.make("ConcurrentStack`1", {{"_head", first}})) < 2'000);

    const Address segment = t.make("Segment", {{"_slots", t.structures("Slot", 4)}, {"_slotsMask", 3}});
    s.r.memory.write_integer(t.place("Segment", segment, "_nextSegment"), segment, s.r.runtime.pointer());
    CHECK(cost_of(t.make("ConcurrentQueue`1", {{"_head", segment}})) < 200'000);
  });
}

TEST_CASE("texts share a limit of what is looked at in collections", "[objects]") {
  Scene s{Platform{}};
  FrameworkTypes& t = s.types;
  Address first = 0;
  for (unsigned i = 0; i < 20; ++i) first = t.make("Node", {{"_value", 1}, {"_next", first}});
  const Address stack = t.make("ConcurrentStack`1", {{"_head", first}});
  const std::string whole = "Count = 20 {1, 1, 1, 1, 1, 1, 1, 1, ...}";
  constexpr std::uint64_t cost = 20 + 2 * 9; // to count the nodes; nodes and elements up to the ninth
  std::uint64_t steps = 2 * cost + 24;
  const auto text = [&] { return s.view.objects.describe_object(stack, {.steps = &steps}); };
  CHECK(text() == whole);
  CHECK(steps == cost + 24);
  CHECK(text() == whole);
  CHECK_THAT(text(), Catch::StartsWith("Count = 20 {1") && Catch::Contains("more than 24 parts"));
  CHECK(steps == 0);
  CHECK_THAT(text(), Catch::Contains("more than 0 parts"));

  // The text of the object, and those of its elements.
  const Address array = t.objects({stack, stack, stack});
  steps = 3 * cost + 2 * cost;
  const InspectedObject found = inspect_object(s.view.objects, array, {.text = {.steps = &steps}});
  REQUIRE(found.items.size() == 3);
  CHECK(found.items[0].value.text == whole);
  CHECK(found.items[1].value.text == whole);
  CHECK_THAT(found.items[2].value.text, Catch::Contains("more than 0 parts"));
  CHECK(steps == 0);

  // The chunks of a text count, too.
  const Address text_of_chunks = t.make("StringBuilder", {});
  CHECK_THAT(s.view.objects.describe_object(text_of_chunks, {.steps = &steps}),
             Catch::Contains("too many chunks"));
}

TEST_CASE("sorted collections", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const auto node = [&](std::uint32_t value, Address left, Address right) {
      return t.make("SetNode", {{"<Item>k__BackingField", value}, {"Left", left}, {"Right", right}});
    };
    const Address root = node(4, node(2, node(1, 0, 0), node(3, 0, 0)), node(5, 0, 0));
    const Address set = t.make("SortedSet`1", {{"root", root}, {"count", 5}});
    CHECK(s.text(set) == "Count = 5 {1, 2, 3, 4, 5}");
    CHECK(s.text(t.make("SortedList`2",
                        {{"keys", t.numbers({1, 2, 0})}, {"values", t.numbers({8, 9, 0})}, {"_size", 2}})) ==
          "Count = 2 {[1] = 8, [2] = 9}");

    // A set of pairs is a dictionary.
    const Address pair = t.make("PairNode", {});
    t.set("KeyValuePair`2", t.place("PairNode", pair, "Item"), "key", 7);
    t.set("KeyValuePair`2", t.place("PairNode", pair, "Item"), "value", s.string(u"seven"));
    const Address pairs = t.make("SortedSet`1", {{"root", pair}, {"count", 1}});
    CHECK(s.text(t.make("SortedDictionary`2", {{"_set", pairs}})) == "Count = 1 {[7] = \"seven\"}");

    // A tree that leads back to itself.
    t.set("SetNode", s.r.fields_of(root), "Left", root);
    CHECK_THAT(s.text(set), Catch::Contains("too deep"));
    // Collections that wrap themselves.
    const Address wraps = t.make("Collection`1", {});
    t.set("Collection`1", s.r.fields_of(wraps), "items", wraps);
    CHECK_THAT(s.text(wraps), Catch::Contains("too deeply"));
  });
}

TEST_CASE("concurrent collections", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address other = t.make("Node", {{"_key", 3}, {"_value", 30}});
    const Address chained = t.make("Node", {{"_key", 2}, {"_value", 20}, {"_next", other}});
    const Address single = t.make("Node", {{"_key", 1}, {"_value", 10}});
    const Address tables = t.make(
        "Tables", {{"_buckets", t.objects({chained, 0, single})}, {"_countPerLock", t.numbers({2, 1})}});
    CHECK(s.text(t.make("ConcurrentDictionary`2", {{"_tables", tables}})) ==
          "Count = 3 {[2] = 20, [3] = 30, [1] = 10}");

    // Two segments: the first takes no more, so its tail stands twice its length further on.
    const auto segment = [&](Address next, std::uint32_t head, std::uint32_t tail, bool frozen,
                             std::uint32_t first) {
      const Address slots = t.structures("Slot", 4);
      for (std::uint32_t i = 0; i < 4; ++i)
        t.set("Slot", t.structure_at("Slot", slots, (first + i) % 4), "Item", first + i);
      const Address made = t.make(
          "Segment",
          {{"_slots", slots}, {"_slotsMask", 3}, {"_nextSegment", next}, {"_frozenForEnqueues", frozen}});
      t.set("Ends", t.place("Segment", made, "_headAndTail"), "Head", head);
      t.set("Ends", t.place("Segment", made, "_headAndTail"), "Tail", tail);
      return made;
    };
    const Address last = segment(0, 4, 6, false, 4);
    CHECK(s.text(t.make("ConcurrentQueue`1", {{"_head", segment(last, 2, 4 + 8, true, 0)}})) ==
          "Count = 4 {2, 3, 4, 5}");
    CHECK_THAT(s.text(t.make("ConcurrentQueue`1", {{"_head", segment(0, 2, 9, false, 0)}})),
               Catch::Contains("more elements than its array"));
  });
}

TEST_CASE("immutable collections", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address end = t.make("ListNode", {});
    const auto node = [&](std::uint32_t value, Address left, Address right, std::uint32_t count) {
      return t.make("ListNode",
                    {{"_key", value}, {"_left", left}, {"_right", right}, {"_count", count}, {"_height", 1}});
    };
    CHECK(s.text(t.make("ImmutableList`1", {{"_root", node(2, node(1, end, end, 1), end, 2)}})) ==
          "Count = 2 {1, 2}");
    CHECK(s.text(t.make("ImmutableList`1", {{"_root", end}})) == "Count = 0");
    const Address empty = t.make("MapNode", {});
    const Address map =
        t.make("MapNode", {{"_key", 4}, {"_value", 40}, {"_left", empty}, {"_right", empty}, {"_height", 1}});
    CHECK(s.text(t.make("ImmutableSortedDictionary`2", {{"_root", map}, {"_count", 1}})) ==
          "Count = 1 {[4] = 40}");

    // Two values with the same hash code stand in one bucket.
    const Address bucket = t.make("BucketNode", {{"_height", 1}});
    const Address inside = t.place("BucketNode", bucket, "_value");
    t.set("Bucket", inside, "_firstValue", 6);
    t.set("Bucket", inside, "_additionalElements", node(7, end, end, 1));
    CHECK(s.text(t.make("ImmutableHashSet`1", {{"_root", bucket}, {"_count", 2}})) == "Count = 2 {6, 7}");
    CHECK(s.boxed(t.make("ImmutableArray`1", {{"array", t.numbers({7, 8})}})) == "Count = 2 {7, 8}");

    const Address items = s.r.instance(s.r.list_of_int, s.r.runtime.pointer() + 4);
    s.r.memory.at(s.r.fields_of(items)).pointer(t.numbers({1, 2})).u32(2);
    CHECK(s.text(t.make("ObservableCollection`1", {{"items", items}})) == "Count = 2 {1, 2}");
  });
}

TEST_CASE("collections that are met less often", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address a = s.string(u"a"), b = s.string(u"b");
    CHECK(s.text(t.make("ArrayList", {{"_items", t.objects({a, b, 0})}, {"_size", 2}})) ==
          "Count = 2 {\"a\", \"b\"}");
    CHECK_THAT(s.text(t.make("ArrayList", {{"_items", t.objects({a})}, {"_size", 2}})),
               Catch::Contains("more elements than its array"));

    // The last bucket comes first; one was never used, one is freed: its key is the array.
    const Address buckets = t.structures("HashBucket", 4);
    const auto put = [&](std::uint32_t at, Address key, Address value) {
      t.set("HashBucket", t.structure_at("HashBucket", buckets, at), "key", key);
      t.set("HashBucket", t.structure_at("HashBucket", buckets, at), "val", value);
    };
    put(0, a, b);
    put(1, buckets, 0);
    put(3, b, 0);
    const Address table = t.make("Hashtable", {{"_buckets", buckets}, {"_count", 2}});
    CHECK(s.text(table) == "Count = 2 {[\"b\"] = null, [\"a\"] = \"b\"}");
    CHECK(s.text(t.make("Hashtable+SyncHashtable", {{"_table", table}})) ==
          "Count = 2 {[\"b\"] = null, [\"a\"] = \"b\"}");

    const Address entries = t.structures("OrderedEntry", 3);
    for (std::uint32_t i = 0; i < 2; ++i) {
      t.set("OrderedEntry", t.structure_at("OrderedEntry", entries, i), "Key", 9 - i);
      t.set("OrderedEntry", t.structure_at("OrderedEntry", entries, i), "Value", i);
    }
    CHECK(s.text(t.make("OrderedDictionary`2", {{"_entries", entries}, {"_count", 2}})) ==
          "Count = 2 {[9] = 0, [8] = 1}");
    CHECK_THAT(s.text(t.make("OrderedDictionary`2", {{"_entries", entries}, {"_count", 4}})),
               Catch::Contains("more entries than its array"));
    CHECK(s.text(t.make("OrderedDictionary`2", {})) == "Count = 0");

    const Address end = t.make("ImmutableStack`1", {});
    const auto push = [&](std::uint32_t value, Address tail) {
      return t.make("ImmutableStack`1", {{"_head", value}, {"_tail", tail}});
    };
    CHECK(s.text(push(2, push(1, end))) == "Count = 2 {2, 1}");
    CHECK(s.text(end) == "Count = 0");
    CHECK(s.text(t.make("ImmutableQueue`1",
                        {{"_forwards", push(1, push(2, end))}, {"_backwards", push(4, push(3, end))}})) ==
          "Count = 4 {1, 2, 3, 4}");

    const Address second =
        t.make("BagQueue",
               {{"_array", t.numbers({7, 8, 9, 6})}, {"_headIndex", 3}, {"_tailIndex", 5}, {"_mask", 3}});
    const Address first = t.make(
        "BagQueue",
        {{"_array", t.numbers({1, 2, 0, 0})}, {"_tailIndex", 2}, {"_mask", 3}, {"_nextQueue", second}});
    CHECK(s.text(t.make("ConcurrentBag`1", {{"_workStealingQueues", first}})) == "Count = 4 {2, 1, 7, 6}");
    CHECK(s.text(t.make("ConcurrentBag`1", {})) == "Count = 0");
    t.set("BagQueue", s.r.fields_of(second), "_tailIndex", 9);
    CHECK_THAT(s.text(t.make("ConcurrentBag`1", {{"_workStealingQueues", first}})),
               Catch::Contains("more elements than its array"));
    t.set("BagQueue", s.r.fields_of(second), "_tailIndex", 5);
    t.set("BagQueue", s.r.fields_of(second), "_nextQueue", first);
    CHECK_THAT(s.text(t.make("ConcurrentBag`1", {{"_workStealingQueues", first}})),
               Catch::Contains("too many parts"));

    CHECK(s.text(t.make("BlockingCollection`1", {{"_collection", push(5, end)}})) == "Count = 1 {5}");
    CHECK(s.text(t.make("Grouping`2", {{"_elements", t.numbers({1, 2, 0})}, {"_count", 2}})) ==
          "Count = 2 {1, 2}");
  });
}

TEST_CASE("lists that the C# compiler makes of collection expressions", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address list = t.make("List`1", {{"_items", t.numbers({4, 5, 0})}, {"_size", 2}});
    CHECK(s.text(t.make("<>z__ReadOnlyArray`1", {{"_items", t.numbers({1, 2})}})) == "Count = 2 {1, 2}");
    CHECK(s.text(t.make("<>z__ReadOnlyList`1", {{"_items", list}})) == "Count = 2 {4, 5}");
    CHECK(s.text(t.make("<>z__ReadOnlySingleElementList`1", {{"_item", 7}})) == "Count = 1 {7}");
    CHECK_THAT(s.text(t.make("<>z__ReadOnlyArray`1", {})), !Catch::Contains("Count"));
  });
}

TEST_CASE("frozen collections of every form", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    CHECK(s.text(t.make("SmallFrozenDictionary`2",
                        {{"_keys", t.numbers({1, 2})}, {"_values", t.numbers({8, 9})}})) ==
          "Count = 2 {[1] = 8, [2] = 9}");
    CHECK_THAT(s.text(t.make("SmallFrozenDictionary`2",
                             {{"_keys", t.numbers({1, 2})}, {"_values", t.numbers({8})}})),
               Catch::Contains("more keys than values"));
    CHECK(s.text(t.make("ItemsFrozenSet`2", {{"_items", t.numbers({3, 4})}})) == "Count = 2 {3, 4}");
    // One that keeps its elements otherwise is an object like others.
    CHECK(s.text(t.make("FrozenSet`1", {})) == "{System.Collections.Frozen.FrozenSet<>}");
  });
}

TEST_CASE("texts of the framework's other types", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    CHECK(s.text(t.make("Uri", {{"_string", s.string(u"http://x/")}})) == "\"http://x/\"");
    CHECK_THAT(s.text(t.make("Lazy`1", {{"_value", 5}})), Catch::EndsWith(": 5}"));
    CHECK_THAT(s.text(t.make("Lazy`1", {{"_value", 5}, {"_state", s.string(u"x")}})),
               Catch::EndsWith(": no value yet}"));
    const Address handle = t.objects({s.string(u"kept")}) + s.r.runtime.target.size_of("Array");
    CHECK(s.text(t.make("WeakReference", {{"_taggedHandle", handle | 1}})) ==
          "{System.WeakReference -> \"kept\"}");
    CHECK(s.text(t.make("WeakReference", {})) == "{System.WeakReference -> null}");
    CHECK(s.text(t.make("BitArray", {{"m_array", t.numbers({5})}, {"m_length", 3}})) ==
          "Count = 3 {true, false, true}");
    CHECK_THAT(s.text(t.make("BitArray", {{"m_array", t.numbers({5})}, {"m_length", 33}})),
               Catch::Contains("more bits than their array has"));
    CHECK(s.text(t.make("Version", {{"_Major", 1}, {"_Minor", 2}, {"_Build", 0xffff'ffff}})) == "1.2");
    CHECK(s.text(t.make("RuntimeType", {{"m_handle", s.r.list_of_int}})) ==
          "{typeof(System.Collections.Generic.List<int>)}");
    const Address cancelled = t.make("CancellationTokenSource", {{"_state", 2}});
    CHECK(s.text(cancelled) == "{cancelled}");
    CHECK(s.boxed(t.make("CancellationToken", {{"_source", cancelled}})) == "{cancelled}");
    CHECK(s.boxed(t.make("CancellationToken", {})) == "{cannot be cancelled}");
    Address option = t.make("FSharpOption`1", {{"item", s.string(u"a")}});
    CHECK(s.text(option) == "Some(\"a\")");
    for (unsigned i = 0; i < 200; ++i) option = t.make("FSharpOption`1", {{"item", option}});
    const std::string nested = s.text(option);
    CHECK(nested.size() <= TextLimits::max_nesting * std::string_view("Some()").size() + 3);
    CHECK_THAT(nested, Catch::StartsWith("Some(Some(") && Catch::Contains("(...)"));
    CHECK(s.boxed(t.make("Index", {{"_value", 0xffff'fffe}})) == "^1");
    CHECK(s.boxed(t.make("Half", {{"_value", 0x3e00}})) == "1.5");
    CHECK(s.boxed(t.make("Int128", {{"_lower", 5}, {"_upper", 1}})) == "18446744073709551621");
    CHECK(s.boxed(t.make("BigInteger", {{"_sign", 0xffff'fffb}})) == "-5");
    CHECK(s.boxed(t.make("BigInteger", {{"_sign", 1}, {"_bits", t.numbers({0, 1})}})) == "4294967296");
    // .NET 11's nuint[]; an array of references has elements of that size.
    const Address words = t.objects({0, 64});
    CHECK(s.boxed(t.make("BigInteger", {{"_sign", 0xffff'ffff}, {"_bits", words}})) ==
          (s.r.runtime.pointer() == 8 ? "-1180591620717411303424" : "-274877906944"));
    const Address offset = t.make("DateTimeOffset", {{"_offsetMinutes", 60}});
    t.set("Date", t.place("DateTimeOffset", offset, "_dateTime"), "_dateData", 0x089f'7ff5'f7b5'8000);
    CHECK(s.boxed(offset) == "1970-01-01 01:00:00 +01:00");

    // In the order of the source, not of memory.
    CHECK(s.text(t.make("Tuple`2", {{"m_Item1", 1}, {"m_Item2", s.string(u"b")}})) == "(\"b\", 1)");
    const Address eight = t.make("ValueTuple`8", {{"Item1", 1}});
    t.set("ValueTuple`1", t.place("ValueTuple`8", eight, "Rest"), "Item1", s.string(u"last"));
    CHECK(s.boxed(eight) == "(1, \"last\")");
    CHECK(s.boxed(t.make("KeyValuePair`2", {{"key", 1}, {"value", s.string(u"v")}})) == "[1, \"v\"]");
  });
}

TEST_CASE("texts in chunks and parts of memory", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const Address characters = s.r.array(s.r.runtime.array_of(s.r.char_type), 4, 8);
    const Address array_type = s.view.objects.method_table_of(characters);
    s.r.runtime.target.set(array_type, "MethodTable", "Module", s.r.core_lib);
    s.r.runtime.target.set(array_type, "MethodTable", "MTFlags", 0x800a'0000u | 2);
    s.r.memory.at(s.r.elements_of(characters)).u16('a').u16('b').u16('c').u16('d');
    const Address before = t.make("StringBuilder", {{"m_ChunkChars", characters}, {"m_ChunkLength", 4}});
    const Address builder = t.make(
        "StringBuilder", {{"m_ChunkChars", characters}, {"m_ChunkPrevious", before}, {"m_ChunkLength", 2}});
    CHECK(s.text(builder) == "\"abcdab\"");
    t.set("StringBuilder", s.r.fields_of(builder), "m_ChunkLength", 5);
    CHECK_THAT(s.text(builder), Catch::Contains("longer than its array"));
    t.set("StringBuilder", s.r.fields_of(before), "m_ChunkPrevious", before);
    CHECK_THAT(s.text(before), Catch::Contains("too many chunks"));

    CHECK(s.boxed(t.make("Memory`1", {{"_object", t.numbers({1, 2, 3})}, {"_index", 1}, {"_length", 2}})) ==
          "int[2] {2, 3}");
    CHECK(s.boxed(t.make("Memory`1", {{"_object", s.string(u"hello")}, {"_index", 1}, {"_length", 3}})) ==
          "\"ell\"");
    CHECK_THAT(s.boxed(t.make("Memory`1", {{"_object", s.string(u"abc")}, {"_index", 2}, {"_length", 2}})),
               Catch::Contains("not within its string"));
    CHECK_THAT(s.boxed(t.make("Memory`1", {{"_object", t.numbers({1})}, {"_length", 2}})),
               Catch::Contains("not within its array"));
    CHECK(s.boxed(t.make("Memory`1", {})) == "{Length = 0}");
    const Address data = t.numbers({8, 9});
    CHECK(s.boxed(t.make("Span`1", {{"_reference", s.r.elements_of(data)}, {"_length", 2}})) ==
          "int[2] {8, 9}");
  });
}

TEST_CASE("tasks", "[objects]") {
  on_each([](Scene& s) {
    FrameworkTypes& t = s.types;
    const std::string one = "{System.Threading.Tasks.Task<>: ", plain = "{System.Threading.Tasks.Task: ";
    CHECK(s.text(t.make("Task`1", {{"m_stateFlags", 0x100'0000}, {"m_result", 5}})) ==
          one + "RanToCompletion, Result = 5}");
    CHECK(s.text(t.make("Task`1", {{"m_stateFlags", 0x200'0000}, {"m_result", 5}})) ==
          one + "WaitingForActivation}");
    CHECK(s.text(t.make("Task", {{"m_stateFlags", 0x40'0000}})) == plain + "Canceled}");
    CHECK(s.text(t.make("Task", {{"m_stateFlags", 0x2'0000}})) == plain + "Running}");
    CHECK(s.text(t.make("Task", {})) == plain + "WaitingToRun}");
    CHECK(s.text(t.make("Task", {{"m_stateFlags", 0x20'0000}})) == plain + "Faulted}");

    const Address exception = s.r.instance(s.r.exception_type, s.r.runtime.pointer());
    s.r.memory.at(s.r.fields_of(exception)).pointer(s.string(u"bad"));
    const Address list = s.r.instance(s.r.list_of_int, s.r.runtime.pointer() + 4);
    s.r.memory.at(s.r.fields_of(list))
        .pointer(t.objects({t.make("Dispatch", {{"_exception", exception}})}))
        .u32(1);
    const Address properties =
        t.make("Properties", {{"m_exceptionsHolder", t.make("Holder", {{"m_faultExceptions", list}})}});
    CHECK(s.text(t.make("Task", {{"m_stateFlags", 0x20'0000}, {"m_contingentProperties", properties}})) ==
          plain + "Faulted, {System.Exception: \"bad\"}}");
  });
}

TEST_CASE("every family of the framework's types is taken apart", "[objects]") {
  on_each([](Scene& s) {
    for (const Address object : framework_samples(s.r, s.types)) {
      const InspectedObject found = inspect_object(s.view.objects, object, {});
      INFO(found.type);
      CHECK(found.fault.empty());
      CHECK_THAT(found.text, !Catch::Matches(".*<[a-z ]+ .*")); // no fault within the text
      for (const InspectedField& field : found.fields) CHECK(field.value.fault.empty());
    }
  });
}
