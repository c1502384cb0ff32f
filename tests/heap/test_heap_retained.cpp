// Dominators and retained sizes, against their definition: what no root reaches any more without an object.
#include "core/heap/heap_retained.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

using namespace clr;
using namespace clr::test;

namespace {

constexpr unsigned fields = 3;
constexpr std::uint64_t node_bytes = 8 * (2 + fields);

// Objects of two types, some of which refer to others.
struct Scene {
  HeapRuntime runtime{{}};
  std::vector<std::vector<std::uint32_t>> edges;
  Address begin = runtime.fresh_region();
  std::vector<unsigned> types; // 0 or 1

  explicit Scene(unsigned count) : edges(count) {
    const Address node[] = {runtime.type_with(node_bytes, {{8, 8 * fields}}),
                            runtime.type_with(node_bytes, {{8, 8 * fields}})};
    for (unsigned i = 0; i < count; ++i) {
      types.push_back(i % 3 == 0 ? 1 : 0);
      runtime.object(begin + i * node_bytes, node[types.back()]);
    }
    runtime.segment(0, 2, begin, begin + count * node_bytes);
  }
  void refer(std::uint32_t from, std::uint32_t to) {
    runtime.set_word(begin + from * node_bytes + 8 + 8 * edges[from].size(), begin + to * node_bytes);
    edges[from].push_back(to);
  }
  std::vector<bool> reached(const std::vector<std::uint32_t>& roots, std::uint32_t without) const {
    std::vector<bool> seen(edges.size(), false);
    std::vector<std::uint32_t> open;
    const auto meet = [&](std::uint32_t object) {
      if (object == without || object >= seen.size() || seen[object]) return;
      seen[object] = true;
      open.push_back(object);
    };
    for (const std::uint32_t root : roots) meet(root);
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t to : edges[at]) meet(to);
    }
    return seen;
  }
};

template<typename Random>
void refer_at_random(Scene& scene, const Random& random) {
  const auto count = static_cast<std::uint32_t>(scene.edges.size());
  for (std::uint32_t from = 0; from < count; ++from)
    for (unsigned i = random() % (fields + 1); i > 0; --i) scene.refer(from, random() % count);
}

// A block of memory in front of another memory.
class BlockReader final : public MemoryReader {
public:
  BlockReader(MemoryReader& next, Address begin, std::span<const std::byte> bytes)
      : next_(&next), begin_(begin), bytes_(bytes) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (address - begin_ >= bytes_.size()) return next_->read_some(address, out);
    const auto there = bytes_.subspan(address - begin_);
    const std::size_t count = std::min(there.size(), out.size());
    std::copy_n(there.begin(), count, out.begin());
    return count;
  }

private:
  MemoryReader* next_;
  Address begin_;
  std::span<const std::byte> bytes_;
};

void check(Scene& scene, const std::vector<std::uint32_t>& roots) {
  const Target target = scene.runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  ReferenceMaps maps(types);
  HeapGraph graph(map, maps, read_handles(target, map.state), {}, 2);
  const HeapRetained retained(map, types, graph, roots);
  const auto count = static_cast<std::uint32_t>(scene.edges.size());
  REQUIRE(graph.index().count() == count);
  CHECK_FALSE(retained.interrupted());

  const std::vector<bool> all = scene.reached(roots, HeapIndex::none);
  std::vector<std::set<std::uint32_t>> dies(count); // with each object
  for (std::uint32_t object = 0; object < count; ++object) {
    const std::vector<bool> left = scene.reached(roots, object);
    for (std::uint32_t i = 0; i < count; ++i)
      if (all[i] && !left[i]) dies[object].insert(i);
  }
  std::vector<RetainedCount> expected(2);
  for (std::uint32_t object = 0; object < count; ++object) {
    CAPTURE(object);
    CHECK(retained.dominators().reached(object) == all[object]);
    CHECK(retained.retained(object) == dies[object].size() * node_bytes);
    CHECK(retained.count(object) == dies[object].size());
    // The nearest of those that it dies with is the one that dies with all others.
    std::uint32_t nearest = HeapDominators::none;
    for (std::uint32_t other = 0; other < count; ++other)
      if (other != object && dies[other].contains(object) &&
          (nearest == HeapDominators::none || dies[other].size() < dies[nearest].size()))
        nearest = other;
    CHECK(retained.dominators().dominator(object) == nearest);
  }
  std::set<std::uint32_t> with[2];
  for (std::uint32_t object = 0; object < count; ++object) {
    if (!all[object]) continue;
    RetainedCount& type = expected[scene.types[object]];
    ++type.objects;
    type.bytes += node_bytes;
    with[scene.types[object]].insert(dies[object].begin(), dies[object].end());
  }
  const std::vector<RetainedCount> by_type = retained.by_type();
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint32_t first = i == 0 ? 1 : 0; // an object of the type
    if (first >= count || expected[i].objects == 0) continue;
    const RetainedCount& found = by_type.at(retained.type(first));
    CHECK(found.objects == expected[i].objects);
    CHECK(found.bytes == expected[i].bytes);
    CHECK(found.retained == with[i].size() * node_bytes);
  }
  // All types as one group: everything that lives counts once.
  RetainedCount together;
  for (const RetainedCount& type : expected) {
    together.objects += type.objects;
    together.bytes += type.bytes;
  }
  const std::vector<RetainedCount> one = retained.by_group(std::vector<std::uint32_t>(types.count(), 1), 2);
  CHECK(one.at(0).objects == 0);
  CHECK(one.at(1).objects == together.objects);
  CHECK(one.at(1).bytes == together.bytes);
  CHECK(one.at(1).retained == together.bytes);
  const std::vector<std::uint32_t> largest = retained.largest(3);
  for (std::uint32_t object = 0; object < count; ++object)
    if (all[object] && std::ranges::find(largest, object) == largest.end())
      CHECK(retained.retained(object) <= retained.retained(largest.back()));
}

} // namespace

TEST_CASE("an object retains what no root reaches without it", "[heap]") {
  Scene scene(8);
  scene.refer(0, 1);
  scene.refer(0, 2);
  scene.refer(1, 3);
  scene.refer(2, 3); // dies with 0 alone
  scene.refer(3, 4);
  scene.refer(4, 3); // a ring
  scene.refer(5, 4);
  scene.refer(6, 7); // dead
  check(scene, {0});
  check(scene, {0, 5});
  check(scene, {0, 3, HeapIndex::none});
  check(scene, {});
}

TEST_CASE("retained sizes of random heaps are those of the definition", "[heap]") {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (unsigned round = 0; round < 60; ++round) {
    CAPTURE(round);
    const unsigned count = 2 + random() % 40;
    Scene scene(count);
    refer_at_random(scene, random);
    std::vector<std::uint32_t> roots;
    for (unsigned i = random() % 4; i > 0; --i) roots.push_back(random() % count);
    check(scene, roots);
  }
}

TEST_CASE("a list retains its rest, and an interruption is told", "[heap]") {
  constexpr std::uint32_t count = 1'500;
  Scene scene(count);
  for (std::uint32_t i = 0; i + 1 < count; ++i) scene.refer(i, i + 1);
  const Target target = scene.runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  ReferenceMaps maps(types);
  HeapGraph graph(map, maps, read_handles(target, map.state), {}, 2);
  const std::vector<std::uint32_t> roots{0};
  const HeapRetained retained(map, types, graph, roots);
  CHECK(retained.retained(0) == count * node_bytes);
  CHECK(retained.retained(count - 1) == node_bytes);
  CHECK(retained.by_type().at(retained.type(1)).retained == (count - 1) * node_bytes);
  const RetainedCount all = count_reachable(graph, 5, [](std::uint32_t) { return node_bytes; });
  CHECK(all.objects == count - 5);
  CHECK(all.bytes == (count - 5) * node_bytes);
  const HeapRetained stopped(map, types, graph, roots,
                             {.progress = [](std::uint64_t, std::uint64_t) { return false; }});
  CHECK(stopped.interrupted());
}

TEST_CASE("ways from the head of a list to what its end refers to are found without the list", "[heap]") {
  // Each of `ends` is behind all of the list, and has only the head to thank for it.
  constexpr std::uint32_t length = 100'000, ends = 40'000; // 4 G steps, were all of them made
  HeapRuntime runtime({});
  const Address begin = runtime.fresh_region(), node = runtime.type_with(24, {{8, 8}}),
                array = runtime.array_of_references();
  // head: an array of the first node and all ends. The list: nodes. Its last one: an array of all ends.
  constexpr std::uint64_t array_bytes = 24 + 8 * (std::uint64_t{ends} + 1);
  const Address list = begin + array_bytes, last = list + std::uint64_t{24} * length,
                first_end = last + array_bytes, end = first_end + std::uint64_t{24} * ends;
  std::vector<std::byte> bytes(end - begin);
  const auto set = [&](Address at, std::uint64_t value) { std::memcpy(&bytes[at - begin], &value, 8); };
  for (const Address at : {begin, last}) {
    set(at, array);
    set(at + 8, ends + 1);
    set(at + 16, at == begin ? list : 0);
    for (std::uint64_t i = 0; i < ends; ++i) set(at + 24 + 8 * i, first_end + 24 * i);
  }
  for (Address at = list; at < last; at += 24) {
    set(at, node);
    set(at + 8, at + 24);
  }
  for (Address at = first_end; at < end; at += 24) set(at, node);
  const Address segment = runtime.segment(0, 2, begin, end);
  for (unsigned i = 1; i <= 3; ++i) runtime.set_word(segment + i * 8, end); // reserved
  BlockReader memory(runtime.memory, begin, bytes);
  const Target target(memory, runtime.t.contract_descriptor(), Platform{});
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  ReferenceMaps maps(types);
  HeapGraph graph(map, maps, read_handles(target, map.state), {}, 2);
  REQUIRE(graph.index().count() == 2 + length + ends);
  const HeapDominators dominators(graph, std::vector<std::uint32_t>{0});
  CHECK(dominators.dominator(1) == 0);
  CHECK(dominators.dominator(length) == length - 1);
  CHECK(dominators.dominator(length + 1) == length);
  std::uint32_t below_head = 0;
  for (std::uint32_t i = 0; i < ends; ++i)
    if (dominators.dominator(length + 2 + i) == 0) ++below_head;
  CHECK(below_head == ends);
}

TEST_CASE("a group of roots retains what the other groups do not reach", "[heap]") {
  std::mt19937 engine(11);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (unsigned round = 0; round < 60; ++round) {
    CAPTURE(round);
    const unsigned count = 2 + random() % 40;
    Scene scene(count);
    refer_at_random(scene, random);
    HeapRootGroups groups{.of_root = {}, .count = 1 + random() % 4, .cut = {}};
    std::vector<std::uint32_t> roots;
    for (unsigned i = random() % 8; i > 0; --i) {
      roots.push_back(i == 7 ? HeapIndex::none : random() % count);
      groups.of_root.push_back(random() % groups.count);
    }
    for (unsigned i = 0; i < count; ++i) groups.cut.push_back(round % 2 == 0 && random() % 8 == 0);

    const Target target = scene.runtime.target();
    const HeapMap map = read_heap_map(target, HeapRuntime::module);
    HeapTypes types(target);
    ReferenceMaps maps(types);
    HeapGraph graph(map, maps, read_handles(target, map.state), {}, 2);
    const HeapRetained retained(map, types, graph, roots, {}, &groups);
    // What is cut has no references.
    for (unsigned i = 0; i < count; ++i)
      if (groups.cut[i]) scene.edges[i].clear();
    const auto reached = [&](std::uint32_t without_group, std::uint32_t without_object) {
      std::vector<std::uint32_t> left;
      for (std::size_t i = 0; i < roots.size(); ++i)
        if (groups.of_root[i] != without_group) left.push_back(roots[i]);
      return static_cast<std::uint32_t>(std::ranges::count(scene.reached(left, without_object), true));
    };
    const std::uint32_t all = reached(HeapIndex::none, HeapIndex::none);
    for (std::uint32_t group = 0; group < groups.count; ++group) {
      CAPTURE(group);
      const std::uint32_t dies = all - reached(group, HeapIndex::none);
      CHECK(retained.count(count + group) == dies);
      CHECK(retained.retained(count + group) == dies * node_bytes);
    }
    for (std::uint32_t object = 0; object < count; ++object) {
      CAPTURE(object);
      CHECK(retained.count(object) == all - reached(HeapIndex::none, object));
    }
    CHECK(retained.largest(count).size() == all);
  }
}
