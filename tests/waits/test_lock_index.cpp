// The objects of the heap that threads hold or wait for.
#include "core/waits/lock_index.h"
#include "tests/objects/framework_types.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

TEST_CASE("handles that share one number of the system are found by it, a hundred of them", "[lock_index]") {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types{made};
  std::vector<FoundObject> safe;
  for (unsigned i = 0; i < 300; ++i)
    safe.push_back({types.make("SafeWaitHandle", {{"handle", 0x77}}), types["SafeWaitHandle"]});
  const Address other = types.make("SafeWaitHandle", {{"handle", 0x78}});
  safe.push_back({other, types["SafeWaitHandle"]});
  ObjectView view(made);
  HeapTypes heap_types(view.target);
  TypeLineages lineages(view.names.types());
  const HeapMap map;
  HeapPass pass(map, heap_types, lineages);
  LockIndex index(pass);
  // The last thing that it wants are these handles.
  HeapPassResult result = pass.run({}, 1);
  result.found.back() = safe;
  InstanceReader reader(view.objects);
  index.take(result, {}, reader);
  const std::vector<Address> found = index.safe_handles_of(0x77);
  CHECK(found.size() == LockIndex::max_sharing);
  CHECK(std::ranges::is_sorted(found));
  CHECK(index.safe_handles_of(0x78) == std::vector{other});
  CHECK(index.safe_handles_of(0x79).empty());
  CHECK(index.is_safe_handle(other));
}
