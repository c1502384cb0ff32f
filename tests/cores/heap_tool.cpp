// Prints what the managed heap of a core holds, in the form of tests/live/oracle, to be compared with it.
//   heap_tool CORE [--types]       segments, then types, and last one line with counts and a hash of all
//   (address, type, size) heap_tool CORE --time N        the same statistics N times, in milliseconds
#include "core/heap/heap_statistics.h"
#include "core/runtime/core_session.h"
#include "core/runtime/heap_report.h"

#include <fmt/format.h>

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
  explicit Hash(HeapTypes& types) : types_(types) {}
  void begin(std::size_t) override {}
  void add(std::span<const HeapObject> found) override {
    for (const HeapObject& object : found) {
      while (tables_.size() <= object.type)
        tables_.push_back(types_.at(static_cast<std::uint32_t>(tables_.size())).method_table);
      hash += mix(object.address, tables_[object.type], object.size);
      bytes += object.size;
    }
    objects += found.size();
  }
  std::uint64_t hash = 0, objects = 0, bytes = 0;

private:
  HeapTypes& types_;
  std::vector<Address> tables_;
};

double milliseconds(const auto& act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
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
      const double ms = milliseconds([&] { statistics = count_heap(heap->map(), heap->types()); });
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
  std::vector<std::unique_ptr<HeapSink>> sinks;
  sinks.push_back(std::make_unique<Hash>(heap->types()));
  const HeapWalkResult result = walk_heap(heap->map(), heap->types(), heap->map().ranges, sinks);
  const auto& hash = static_cast<const Hash&>(*sinks.front());
  for (const std::string& text : heap->warnings()) fmt::print("warning: {}\n", text);
  for (const HeapGap& gap : result.gaps)
    fmt::print("gap {:#x} {} bytes: {}\n", gap.address, gap.bytes, gap.why);
  fmt::print(
      "{{\"segments\": {}, \"objects\": {}, \"bytes\": {}, \"contexts\": {}, \"hash\": \"{:016x}\"}}\n",
      heap->map().ranges.size(), hash.objects, hash.bytes, heap->map().contexts.size(), hash.hash);
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
