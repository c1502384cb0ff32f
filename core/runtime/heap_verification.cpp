// What contradicts itself in the heap.
#include "core/runtime/heap_holders.h"

#include <fmt/format.h>

namespace clr {

HeapVerification HeapHolders::verify(const HeapWalkOptions& options) {
  const HeapGraph& graph = this->graph(options);
  HeapVerification found{.objects = graph.index().count(), .references = graph.out().count()};
  found.gaps = graph.index().gaps();
  found.stray_references = graph.stray_count();
  found.strays = graph.strays();
  constexpr std::size_t most = HeapGraph::max_strays;
  for (const GcHandle& handle : handles().handles)
    if (graph.index().find(handle.object) == HeapIndex::none && found.stray_handle_count++ < most)
      found.stray_handles.push_back(handle);
  const auto check = [&](Address object) {
    bool good = graph.index().find(object) != HeapIndex::none;
    if (good) good = heap_->types().at(object_at(object).type).has_finalizer();
    if (!good && found.stray_finalizable_count++ < most) found.stray_finalizable.push_back(object);
  };
  for (const auto& object : finalizers().registered) check(object.object);
  for (const auto& object : finalizers().ready) check(object.object);
  const auto note_more = [&](std::uint64_t count, std::string_view what) {
    if (count > most)
      note(fmt::format("{} {} lead to no such object; the first {} are told", count, what, most));
  };
  note_more(found.stray_handle_count, "handles");
  note_more(found.stray_finalizable_count, "entries of the finalizer queue");
  return found;
}

} // namespace clr
