// Prints what the managed heap of a core holds, in the form of tests/live/oracle, to be compared with it.
//   heap_tool CORE [--types]       segments, then types, and last one line with counts and a hash of all
//   (address, type, size) heap_tool CORE --time N        the same statistics N times, in milliseconds
//   heap_tool CORE --graph [retained]     the time and memory of references, paths and retained sizes
#include "core/heap/finalizer_queue.h"
#include "core/heap/heap_retained.h"
#include "core/heap/heap_statistics.h"
#include "core/runtime/core_session.h"
#include "core/runtime/heap_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <iostream>

using namespace clr;

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t h = a * 0x9E3779B97F4A7C15 ^ b * 0xC2B2AE3D27D4EB4F ^ c * 0x165667B19E3779F9;
  return h ^ h >> 29;
}

class Hash final : public HeapSink {
public:
  Hash(HeapTypes& types, ReferenceMaps* maps, Address free)
      : types_(types), reader_(maps != nullptr ? std::make_unique<ReferenceReader>(*maps) : nullptr),
        free_(free) {}
  void begin(std::size_t) override {}
  void add(std::span<const HeapObject> found) override {
    for (const HeapObject& object : found) {
      while (tables_.size() <= object.type)
        tables_.push_back(types_.at(static_cast<std::uint32_t>(tables_.size())).method_table);
      hash += mix(object.address, tables_[object.type], object.size);
      bytes += object.size;
      if (reader_ == nullptr || tables_[object.type] == free_) continue;
      reader_->read(object, [&](std::uint64_t, Address value) {
        ++references;
        reference_hash += mix(object.address, value, 1);
      });
    }
    objects += found.size();
  }
  std::uint64_t hash = 0, objects = 0, bytes = 0, references = 0, reference_hash = 0;

private:
  HeapTypes& types_;
  std::unique_ptr<ReferenceReader> reader_;
  Address free_;
  std::vector<Address> tables_;
};

double milliseconds(const auto& act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Prints how long `act` took: by the clock and of the processors, and the most memory so far.
void timed(const char* what, const auto& act) {
  const auto processor = [](const rusage& used) {
    return 1e3 * static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-3 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  };
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const double clock = milliseconds(act);
  getrusage(RUSAGE_SELF, &after);
  fmt::print("{} {:.1f} ms, {:.1f} ms of processors, peak {} MB\n", what, clock,
             processor(after) - processor(before), after.ru_maxrss / 1024);
}

int run(const char* path, const std::string& option, const char* value) {
  const auto session = CoreSession::open(path, {});
  if (session->runtime().absence() != nullptr) throw std::runtime_error("no runtime");
  std::unique_ptr<HeapReporter> heap;
  const double finding = milliseconds([&] { heap = std::make_unique<HeapReporter>(session->runtime()); });
  if (option == "--time") {
    fmt::print("find {:.1f} ms\n", finding);
    for (int i = std::atoi(value); i > 0; --i) {
      HeapStatistics statistics;
      const double ms =
          milliseconds([&] { timed("stat", [&] { statistics = count_heap(heap->map(), heap->types()); }); });
      std::uint64_t objects = 0;
      for (const HeapRangeCount& range : statistics.ranges)
        objects += range.live.objects + range.free.objects;
      fmt::print("{} objects, {:.1f} ms, {:.1f} M/s\n", objects, ms,
                 static_cast<double>(objects) / ms / 1000);
    }
    return 0;
  }
  if (option == "--types")
    for (const HeapTypeRow& row : heap->count_types({}).rows)
      fmt::print("{:#x} {} {} {}\n", row.method_table, row.count.objects, row.count.bytes, row.name);
  if (option == "--handles") {
    const GcHandles found = read_handles(*session->runtime().target(), heap->map().state);
    for (const GcHandle& handle : found.handles)
      fmt::print("{:#x} {} {:#x} {:#x}\n", handle.slot, to_string(handle.kind), handle.object,
                 handle.dependent);
    for (const std::string& problem : found.problems) fmt::print("problem: {}\n", problem);
    return 0;
  }
  if (option == "--finalizers") {
    const FinalizerQueue queue = read_finalizer_queue(*session->runtime().target(), heap->map().state);
    for (const auto& object : queue.registered)
      fmt::print("registered {:#x} {}\n", object.object, to_string(object.part));
    for (const auto& object : queue.ready) fmt::print("ready {:#x}\n", object.object);
    for (const std::string& problem : queue.problems) fmt::print("problem: {}\n", problem);
    return 0;
  }
  ReferenceMaps maps(heap->types());
  if (option == "--graph") {
    GcHandles handles;
    std::unique_ptr<HeapGraph> graph;
    timed("handles", [&] { handles = read_handles(*session->runtime().target(), heap->map().state); });
    timed("graph", [&] { graph = std::make_unique<HeapGraph>(heap->map(), maps, handles); });
    timed("in", [&] { graph->in(); });
    std::vector<std::uint32_t> roots;
    for (const GcHandle& handle : handles.handles)
      if (is_root(handle.kind)) roots.push_back(graph->index().find(handle.object));
    std::unique_ptr<HeapTree> tree;
    timed("tree", [&] { tree = std::make_unique<HeapTree>(*graph, roots); });
    timed("path", [&] { tree->path(graph->index().count() / 2, 1'000); });
    if (value != nullptr)
      timed("retained", [&] { const HeapRetained retained(heap->map(), heap->types(), *graph, roots); });
    fmt::print("{} objects, {} references, {} strays, {} reached\n", graph->index().count(),
               graph->out().count(), graph->stray_count(), tree->reached_count());
    for (const HeapGraph::Stray& stray : graph->strays())
      fmt::print("stray {:#x}+{} -> {:#x}\n", stray.object, stray.offset, stray.value);
    for (std::uint32_t i = 0; value == nullptr && i < graph->index().count(); ++i)
      if (graph->index().find(graph->index().address(i)) != i)
        fmt::print("object {} has another number\n", i);
    return 0;
  }
  std::vector<std::unique_ptr<HeapSink>> sinks;
  sinks.push_back(
      std::make_unique<Hash>(heap->types(), option == "--refs" ? &maps : nullptr, heap->map().free_object));
  const HeapWalkResult result = walk_heap(heap->map(), heap->types(), heap->map().ranges, sinks);
  const auto& hash = static_cast<const Hash&>(*sinks.front());
  for (const std::string& text : heap->warnings()) fmt::print("warning: {}\n", text);
  for (const HeapGap& gap : result.gaps)
    fmt::print("gap {:#x} {} bytes: {}\n", gap.address, gap.bytes, gap.why);
  fmt::print("{{\"segments\": {}, \"objects\": {}, \"bytes\": {}, \"contexts\": {}, \"hash\": \"{:016x}\"",
             heap->map().ranges.size(), hash.objects, hash.bytes, heap->map().contexts.size(), hash.hash);
  if (option == "--refs")
    fmt::print(", \"refs\": {}, \"refhash\": \"{:016x}\"", hash.references, hash.reference_hash);
  fmt::print("}}\n");
  return 0;
}

} // namespace

int main(int count, char** arguments) {
  try {
    if (count < 2) throw std::runtime_error("usage: heap_tool CORE [--types | --time N]");
    return run(arguments[1], count > 2 ? arguments[2] : "", count > 3 ? arguments[3] : "1");
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
