// clr heap: what fills the managed heap.
#include "core/report/heap_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace clr::lldb_plugin {

namespace {

std::optional<HeapPart> part_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const HeapPart part :
       {HeapPart::gen0, HeapPart::gen1, HeapPart::gen2, HeapPart::loh, HeapPart::poh, HeapPart::frozen})
    if (to_string(part) == name || to_string(part) == "gen" + name) return part;
  return std::nullopt;
}

class Heap final : public CommandRun {
public:
  explicit Heap(CLI::App& app) {
    auto* const stat = app.add_flag("-s,--stat", stat_, "Count the objects of each type.");
    app.add_option("GLOB", query_.glob,
                   "With --stat: types whose names match this pattern, with * and ?; all by default.")
        ->needs(stat);
    app.add_option("-g,--gen", part_, "With --stat: objects of one generation only.")
        ->type_name("GEN")
        ->check(one_of({"0", "1", "2", "loh", "poh", "frozen"}))
        ->needs(stat);
    add_count(app, "-m,--min", query_.least_bytes, {0, ~std::uint64_t{0}},
              "With --stat: types whose objects fill so many bytes or more.")
        ->needs(stat);
    app.add_option("-o,--sort", sort_, "With --stat: what the order is by; bytes by default.")
        ->type_name("ORDER")
        ->check(one_of({"bytes", "count"}))
        ->needs(stat);
    add_count(app, "-n,--top", query_.top, {1, 1'000'000}, "With --stat: so many types at most.")
        ->needs(stat);
    app.add_flag("--segments", segments_, "Show each segment or region.")->excludes(stat);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    query_.part = part_named(part_);
    query_.by_count = sort_ == "count";
    HeapReporter heap(session.runtime());
    const HeapWalkOptions options{.progress = [&](std::uint64_t done, std::uint64_t of) {
      constexpr std::uint64_t stride = 4096; // Output looks at multiples of it only
      out.progress("heap", done / stride * stride, of);
      return !out.interrupted();
    }};
    stat_ ? print_types(heap, options, out) : print_heap(heap, options, out);
  }

private:
  static void warn(HeapReporter& heap, const std::vector<HeapGap>& gaps, bool interrupted, Output& out) {
    for (const std::string& text : heap.warnings()) out.warning(text);
    if (interrupted)
      out.warning("interrupted: the counts are of the part of the heap that was looked at");
    else
      for (const std::string& text : gap_texts(gaps, heap.map().bytes())) out.warning(text);
  }

  void print_types(HeapReporter& heap, const HeapWalkOptions& options, Output& out) const {
    const HeapTypeReport report = heap.count_types(query_, options);
    if (json_) {
      out.line("{}", dump(to_json(report, heap.map(), query_.part)));
    } else {
      std::map<std::string, std::set<std::string>> modules;
      for (const HeapTypeRow& row : report.rows) modules[row.name].insert(row.module);
      if (!report.rows.empty())
        out.line("{:>18} {:>11} {:>15} {:>9} {}", "method table", "count", "bytes", "average", "type");
      for (const HeapTypeRow& row : report.rows)
        out.line("{:#018x} {:>11} {:>15} {:>9} {}{}", row.method_table, row.count.objects, row.count.bytes,
                 row.count.bytes / row.count.objects, row.name,
                 modules[row.name].size() > 1 ? fmt::format(" ({})", row.module) : "");
      if (report.rows.size() < report.types)
        out.line("{} more types are not shown", report.types - report.rows.size());
      out.line("{} objects of {} types, {} bytes; {} free blocks, {} bytes", report.all.objects, report.types,
               report.all.bytes, report.free.objects, report.free.bytes);
    }
    warn(heap, report.gaps, report.interrupted, out);
  }

  void print_heap(HeapReporter& heap, const HeapWalkOptions& options, Output& out) const {
    if (json_) {
      out.line("{}", dump(heap_json(heap, options)));
    } else {
      const HeapStatistics& statistics = heap.statistics(options);
      print_parts(heap.map(), statistics, out);
      if (segments_) print_segments(heap.map(), statistics, out);
    }
    const HeapStatistics& statistics = heap.statistics(options);
    warn(heap, statistics.gaps, statistics.interrupted, out);
  }

  static std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0
               ? "0 %"
               : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  }

  static void print_parts(const HeapMap& map, const HeapStatistics& statistics, Output& out) {
    struct Sum {
      std::size_t segments = 0;
      HeapRangeCount count;
      std::uint64_t bytes = 0;
    };
    std::map<std::pair<std::uint32_t, HeapPart>, Sum> sums;
    Sum all;
    for (std::size_t i = 0; i < map.ranges.size(); ++i)
      for (Sum* const sum : {&sums[{map.ranges[i].heap, map.ranges[i].part}], &all}) {
        ++sum->segments;
        sum->bytes += map.ranges[i].size();
        sum->count.live += statistics.ranges[i].live;
        sum->count.free += statistics.ranges[i].free;
        sum->count.largest_free = std::max(sum->count.largest_free, statistics.ranges[i].largest_free);
      }
    out.line("{} collector, {}, {} heap{}", map.state.server ? "server" : "workstation",
             map.state.regions() ? "regions" : "segments", map.state.heaps.size(),
             map.state.heaps.size() == 1 ? "" : "s");
    out.line("{} bytes committed; {} objects, {} bytes; {} free blocks, {} bytes ({}), the largest {}",
             map.committed_bytes, all.count.live.objects, all.count.live.bytes, all.count.free.objects,
             all.count.free.bytes, percent(all.count.free.bytes, all.bytes), all.count.largest_free);
    out.line("{:>4} {:<6} {:>8} {:>15} {:>11} {:>15} {:>15} {:>7}", "heap", "part", "segments", "size",
             "objects", "bytes", "free", "");
    for (const auto& [key, sum] : sums)
      out.line("{:>4} {:<6} {:>8} {:>15} {:>11} {:>15} {:>15} {:>7}", key.first, to_string(key.second),
               sum.segments, sum.bytes, sum.count.live.objects, sum.count.live.bytes, sum.count.free.bytes,
               percent(sum.count.free.bytes, sum.bytes));
  }

  static void print_segments(const HeapMap& map, const HeapStatistics& statistics, Output& out) {
    out.line("{:>18} {:>18} {:>18} {:>18} {:>4} {:<6} {:>11} {:>15}", "segment", "begin", "end", "committed",
             "heap", "part", "objects", "bytes");
    for (std::size_t i = 0; i < map.ranges.size(); ++i) {
      const HeapRange& range = map.ranges[i];
      out.line("{:#018x} {:#018x} {:#018x} {:#018x} {:>4} {:<6} {:>11} {:>15}", range.segment, range.begin,
               range.end, range.committed_end, range.heap, to_string(range.part),
               statistics.ranges[i].live.objects, statistics.ranges[i].live.bytes);
    }
  }

  HeapQuery query_;
  std::string part_, sort_;
  bool stat_ = false, segments_ = false, json_ = false;
};

} // namespace

CommandSpec heap_command() {
  return {"heap",
          nullptr,
          "Show what fills the managed heap: its generations and segments, or its objects by type.",
          "clr heap --stat --top 20",
          "shows the twenty types whose objects fill most of the heap.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Heap>(app); }};
}

} // namespace clr::lldb_plugin
