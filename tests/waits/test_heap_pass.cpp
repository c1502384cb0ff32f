// One walk over the heap that collects objects of wanted types.
#include "core/waits/heap_pass.h"
#include "tests/objects/framework_types.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

// Objects one behind the other, in two ranges.
struct Heap {
  static constexpr Address begin = 0x2000'0000, second = 0x3000'0000;
  static constexpr std::size_t in_range = 100;

  Heap() {
    std::vector<Address> kinds{types["Task+WhenAllPromise"], types["Queue`1"], types["Task"]};
    for (const Address first : {begin, second}) {
      made.memory.write(first, Bytes(64 * in_range * 2));
      Address at = first;
      for (std::size_t i = 0; i < in_range; ++i) {
        const Address type = kinds[i % kinds.size()];
        made.memory.write_integer(at, type, 8);
        if (i % kinds.size() != 1) tasks.push_back(at);
        at += view.objects.layouts().of(type).table.base_size;
      }
      map.ranges.push_back({.begin = first, .end = at});
    }
  }

  ObjectRuntime made{Platform{}};
  FrameworkTypes types{made};
  ObjectView view{made};
  HeapTypes heap_types{view.target};
  TypeLineages lineages{view.names.types()};
  HeapMap map;
  std::vector<Address> tasks;
};

std::vector<Address> addresses(const std::vector<FoundObject>& found) {
  std::vector<Address> all;
  for (const FoundObject& object : found) all.push_back(object.address);
  return all;
}

} // namespace

TEST_CASE("types are judged once, and their objects collected in order", "[heap_pass]") {
  Heap heap;
  HeapPass pass(heap.map, heap.heap_types, heap.lineages);
  std::size_t asked = 0;
  const std::size_t first = pass.want([&](const TypeLineage& lineage) {
    ++asked;
    return lineage.derives_from("System.Threading.Tasks.Task");
  });
  const std::size_t second =
      pass.want([](const TypeLineage& lineage) { return lineage.is("System.Collections.Generic.Queue`1"); });
  const std::size_t third = pass.want([](const TypeLineage&) -> bool { throw_corrupt(0, "no type"); });
  const HeapPassResult result = pass.run({}, 4);
  CHECK(asked == 3);
  CHECK(addresses(result.found[first]) == heap.tasks);
  CHECK(result.found[first].front().method_table == heap.types["Task+WhenAllPromise"]);
  CHECK(result.found[second].size() == 2 * Heap::in_range - heap.tasks.size());
  CHECK(result.found[third].empty());
  CHECK(result.gaps.empty());
  CHECK_FALSE(result.interrupted);
}

TEST_CASE("a walk that is interrupted says so", "[heap_pass]") {
  Heap heap;
  HeapPass pass(heap.map, heap.heap_types, heap.lineages);
  pass.want([](const TypeLineage&) { return true; });
  const HeapPassResult result = pass.run({.progress = [](std::uint64_t, std::uint64_t) { return false; }}, 1);
  CHECK(result.interrupted);
  CHECK(result.found[0].size() < 2 * Heap::in_range);
}

TEST_CASE("a type that cannot be read has no lineage", "[heap_pass]") {
  Heap heap;
  CHECK_FALSE(heap.lineages.of(0x6666'0000).derives_from("System.Threading.Tasks.Task"));
  const TypeLineage& task = heap.lineages.of(heap.types["Task+WhenAllPromise"]);
  CHECK(task.is("System.Threading.Tasks.Task+WhenAllPromise"));
  CHECK_FALSE(task.is("System.Threading.Tasks.Task"));
}

TEST_CASE("types share the lineage of their base types, and one that leads back to itself ends",
          "[heap_pass]") {
  Heap heap;
  TypeLineages& lineages = heap.lineages;
  const TypeLineage& one = lineages.of(heap.types["Task+WhenAllPromise"]);
  const TypeLineage& other = lineages.of(heap.types["Task+DelayPromise"]);
  CHECK(one.base == &lineages.of(heap.types["Task"]));
  CHECK(other.base == one.base);
  CHECK(other.derives_from("System.Threading.Tasks.Task"));
  CHECK(lineages.unreadable() == 0);
  heap.made.runtime.target.set(heap.types["SortedSet`1"], "MethodTable", "ParentMethodTable",
                               heap.types["Stack`1"]);
  heap.made.runtime.target.set(heap.types["Stack`1"], "MethodTable", "ParentMethodTable",
                               heap.types["SortedSet`1"]);
  const TypeLineage& ring = lineages.of(heap.types["SortedSet`1"]);
  CHECK(ring.base->base == &ring);
  CHECK(ring.derives_from("System.Collections.Generic.Stack`1"));
  CHECK_FALSE(ring.derives_from("System.Threading.Tasks.Task"));
  // Who asks for a type counts it once, also when it is a base type that cannot be read.
  heap.made.runtime.target.set(heap.types["List`1"], "MethodTable", "ParentMethodTable", 0x6666'0000);
  CHECK(lineages.of(heap.types["List`1"]).is("System.Collections.Generic.List`1"));
  CHECK(lineages.unreadable() == 1);
  CHECK_FALSE(lineages.of(0x6666'0000).known);
  lineages.of(heap.types["List`1"]);
  CHECK(lineages.unreadable() == 2);
  CHECK_FALSE(lineages.first_fault().empty());
}

TEST_CASE("types that compilers make of async methods and iterators are known by their names",
          "[heap_pass]") {
  const auto named = [](std::string_view last) {
    TypeName name;
    name.shape = TypeShape::definition;
    name.chain = {"Program", std::string(last)};
    return make_type(name);
  };
  for (const char* const machine : {"<Run>d__5", "<Run>d__5`1", "<<Main>$>d__0", "<<Start>b__0_1>d",
                                    "<<Start>g__Inner|3_0>d", "VB$StateMachine_4_Run"})
    CHECK(is_machine_name(*named(machine)));
  for (const char* const other :
       {"<>c__DisplayClass0_0", "<>c", "Runner`2", "d__5", "<PrivateImplementationDetails>"})
    CHECK_FALSE(is_machine_name(*named(other)));
  CHECK(is_machine_name(*instantiate(named("<Run>d__5`1"), {named("Order")})));
  CHECK_FALSE(is_machine_name(*instantiate(named("Runner`1"), {named("<Run>d__5")})));
  CHECK_FALSE(is_machine_name(*unknown_type()));
}
