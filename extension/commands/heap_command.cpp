// clr heap: what fills the managed heap.
#include "core/memory/count_text.h"
#include "core/memory/output_file.h"
#include "core/report/heap_json.h"
#include "core/report/heap_summary_file.h"
#include "core/report/holders_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/new_file.h"
#include "extension/commands/parser.h"
#include "extension/commands/sos_words.h"
#include "extension/commands/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace clr::lldb_plugin {

namespace {

class Heap final : public CommandRun {
public:
  explicit Heap(CLI::App& app) {
    auto* const stat = app.add_flag("-s,--stat", stat_, "Count the objects of each type.");
    of_types_ = {
        app.add_option("GLOB", query_.glob,
                       "With --stat or --diff: types whose names match this pattern, with * and ?; all by "
                       "default."),
        add_count(app, "-m,--min", query_.least_bytes, {0, ~std::uint64_t{0}},
                  "With --stat: types whose objects fill so many bytes or more; with --diff, that changed by "
                  "so many."),
        app.add_option("-o,--sort", sort_,
                       "With --stat or --diff: what the order is by, bytes or count; bytes by default.")
            ->type_name("ORDER")
            ->check(one_of({"bytes", "count"})),
        add_count(app, "-n,--top", query_.top, {1, 1'000'000},
                  "With --stat or --diff: so many types at most.")};
    add_part(app, part_, "With --stat: objects")->needs(stat);
    auto* const live =
        app.add_flag("--live", live_, "With --stat: objects that a root reaches, and no others.")
            ->needs(stat);
    app.add_flag("--dead", dead_,
                 "With --stat: objects that no root reaches; the next collection frees them.")
        ->needs(stat)
        ->excludes(live);
    auto* const segments =
        app.add_flag("--segments", segments_, "Show each segment or region. JSON always has them.")
            ->excludes(stat);
    auto* const verify =
        app.add_flag(
               "--verify", verify_,
               "Look for contradictions in the heap, as a program that writes beyond its memory leaves them.")
            ->excludes(stat)
            ->excludes(segments);
    auto* const free = app.add_flag("--free", free_,
                                    "Show free memory by generation and size of the blocks, and the largest.")
                           ->excludes(stat)
                           ->excludes(segments)
                           ->excludes(verify);
    auto* const diff =
        app.add_option("--diff", other_,
                       "Show what grew since OTHER: an earlier core, or a file that --save wrote.")
            ->type_name("OTHER")
            ->excludes(stat)
            ->excludes(segments)
            ->excludes(verify)
            ->excludes(free);
    auto* const save =
        app.add_option("--save", file_.path, "Keep the counts by type in FILE, for a later --diff.")
            ->type_name("FILE")
            ->excludes(stat)
            ->excludes(segments)
            ->excludes(verify)
            ->excludes(free)
            ->excludes(diff);
    app.add_flag("--force", file_.force, "With --save: replace FILE if it exists.")->needs(save);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    for (const CLI::Option* const option : of_types_)
      if (option->count() != 0 && !stat_ && other_.empty())
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("{} is possible only with --stat or --diff", option->get_name()));
    query_.part = part_named(part_);
    query_.by_count = sort_ == "count";
    const HeapWalkOptions options = walk_options(out);
    if (!file_.path.empty()) return save(session, options, out);
    HeapReporter& heap = session.heap();
    if (!other_.empty())
      print_difference(session, options, out);
    else if (free_)
      print_free(heap, options, out);
    else if (verify_)
      verify(session, options, out);
    else if (stat_)
      print_types(session, options, out);
    else
      print_heap(session, options, out);
  }

private:
  static void warn(HeapReporter& heap, const std::vector<HeapGap>& gaps, bool interrupted, Output& out) {
    if (interrupted) out.warning("the counts are of the part of the heap that was looked at");
    warn_of_heap(out, heap, gaps);
  }

  void save(Session& session, const HeapWalkOptions& options, Output& out) const {
    // Before the work: a place that cannot be written is told at once. Names of types may be secrets.
    file_.require_free();
    OutputFile file(file_.path, Readers::owner);
    const HeapSummary summary = summarize(session.heap(), options);
    const std::string text = heap_summary_text(summary);
    file.write(text);
    file.commit();
    if (json_)
      out.line("{}",
               dump(Json{{"path", file_.path}, {"size", text.size()}, {"types", summary.types.size()}}));
    else
      out.line("{}: {} bytes, {} of {}", file_.path, text.size(), count_text(summary.all.objects, "object"),
               count_text(summary.types.size(), "type"));
    for (const std::string& warning : summary.warnings) out.warning(warning);
  }

  void print_difference(Session& session, const HeapWalkOptions& options, Output& out) const {
    const HeapSummary before = open_heap_summary(other_, session.paths(), options);
    const HeapSummary after = summarize(session.heap(), options);
    const HeapDifference found = compare(before, after,
                                         {.glob = query_.glob,
                                          .least_bytes = query_.least_bytes,
                                          .by_count = query_.by_count,
                                          .top = query_.top});
    if (json_)
      out.line("{}", dump(to_json(found, other_)));
    else
      print_changes(found, out);
    for (const std::string& warning : before.warnings) out.warning(fmt::format("{}: {}", other_, warning));
    for (const std::string& warning : after.warnings) out.warning(warning);
  }

  void print_changes(const HeapDifference& found, Output& out) const {
    if (!found.rows.empty())
      out.line("{:>15} {:>15} {:>11} {:>11} {:<6} {}", "growth", "bytes", "more", "count", "", "type");
    for (const HeapChange& change : found.rows)
      out.line("{:>+15} {:>15} {:>+11} {:>11} {:<6} {}", change.bytes(), change.after.bytes, change.objects(),
               change.after.objects, change.kind(), change.name);
    if (found.rows.size() < found.types)
      out.line("{} more types that changed are not shown", found.types - found.rows.size());
    const HeapChange all{.before = found.before, .after = found.after};
    const HeapChange free{.before = found.free_before, .after = found.free_after};
    out.line("since {}: {:+} bytes to {} in {:+} objects to {}; {:+} free bytes to {}", other_, all.bytes(),
             all.after.bytes, all.objects(), all.after.objects, free.bytes(), free.after.bytes);
  }

  void verify(Session& session, const HeapWalkOptions& options, Output& out) const {
    const HeapVerification found = session.holders().verify(options);
    if (json_) {
      out.line("{}", dump(to_json(found)));
      return;
    }
    out.line("{} objects with {} references", found.objects, found.references);
    for (const HeapGap& gap : found.gaps)
      out.line("{:#x}: {} bytes without objects: {}", gap.address, gap.bytes, gap.why);
    for (const HeapGraph::Stray& stray : found.strays)
      out.line("{:#x} {}: the reference at +{} leads to no object: {:#x}", stray.object,
               session.holders().type_of(stray.object), stray.offset, stray.value);
    if (found.stray_references > found.strays.size())
      out.line("{} more such references", found.stray_references - found.strays.size());
    for (const GcHandle& handle : found.stray_handles)
      out.line("the {} handle at {:#x} refers to no object: {:#x}", to_string(handle.kind), handle.slot,
               handle.object);
    if (found.stray_handle_count > found.stray_handles.size())
      out.line("{} more such handles", found.stray_handle_count - found.stray_handles.size());
    for (const Address object : found.stray_finalizable)
      out.line("{:#x} in the finalizer queue is no object with a finalizer", object);
    if (found.stray_finalizable_count > found.stray_finalizable.size())
      out.line("{} more such entries", found.stray_finalizable_count - found.stray_finalizable.size());
    if (found.sound()) out.line("no contradictions");
    warn_of_heap(out, session.heap(), {});
  }

  HeapTypeReport report_of(Session& session, const HeapWalkOptions& options) const {
    if (!live_ && !dead_) return session.heap().count_types(query_, options);
    const HeapStatistics counted = session.holders().count_reached(live_, options);
    return session.heap().count_types(query_, counted);
  }

  void print_types(Session& session, const HeapWalkOptions& options, Output& out) const {
    HeapReporter& heap = session.heap();
    const HeapTypeReport report = report_of(session, options);
    const auto live = live_ || dead_ ? std::optional(live_) : std::nullopt;
    if (json_) {
      out.line("{}", dump(to_json(report, heap.map(), query_.part, live)));
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
        out.line("{} not shown", report.types - report.rows.size() == 1
                                     ? "1 more type is"
                                     : fmt::format("{} more types are", report.types - report.rows.size()));
      out.line("{} of {}, {} bytes; {}, {} bytes{}", count_text(report.all.objects, "object"),
               count_text(report.types, "type"), report.all.bytes,
               count_text(report.free.objects, "free block"), report.free.bytes,
               whole_text_hint(report.types, query_.glob));
    }
    if (live)
      for (const std::string& text : session.holders().notes()) out.warning(text);
    warn(heap, report.gaps, report.interrupted, out);
  }

  void print_free(HeapReporter& heap, const HeapWalkOptions& options, Output& out) const {
    const HeapFreeSpace found = heap.free_space(largest_free_blocks, options);
    if (json_) {
      out.line("{}", dump(free_json(heap, found)));
    } else {
      out.line("{:<6} {:>17} {:>11} {:>15} {:>7}", "part", "blocks of", "count", "bytes", "");
      for (std::size_t i = 0; i < heap_part_count; ++i) {
        const FreePart& part = found.parts[i];
        if (part.bytes == 0) continue;
        out.line("{:<6} {:>17} {:>11} {:>15} {:>7}", to_string(static_cast<HeapPart>(i)), "any size",
                 part.free.objects, part.free.bytes, percent(part.free.bytes, part.bytes));
        for (std::size_t k = 0; k < free_classes.size(); ++k)
          if (part.classes[k].objects != 0)
            out.line("{:<6} {:>17} {:>11} {:>15} {:>7}", "", class_text(k), part.classes[k].objects,
                     part.classes[k].bytes, percent(part.classes[k].bytes, part.bytes));
      }
      if (!found.largest.empty())
        out.line("{:>18} {:>15} {:<6} {}", "largest block", "bytes", "part", "followed by");
      for (const FreeBlock& block : found.largest)
        out.line("{:#018x} {:>15} {:<6} {}", block.address, block.bytes, to_string(block.part),
                 block.next == 0 ? "" : fmt::format("{:#x} {}", block.next, heap.type(block.next_type).name));
    }
    warn(heap, found.gaps, found.interrupted, out);
  }

  // "64 to 255".
  static std::string class_text(std::size_t number) {
    const std::uint64_t least = std::max<std::uint64_t>(free_classes[number], 1);
    if (number + 1 == free_classes.size()) return fmt::format("{} or more", least);
    return fmt::format("{} to {}", least, free_classes[number + 1] - 1);
  }

  void print_heap(Session& session, const HeapWalkOptions& options, Output& out) const {
    HeapReporter& heap = session.heap();
    // Once: what was interrupted is counted anew when it is asked for again.
    const HeapStatistics& statistics = heap.statistics(options);
    const MemoryUse use = memory_use(session.runtime(), heap, [&] { return session.save_source(); });
    if (json_) {
      Json json = heap_json(heap.map(), statistics);
      add_to_json(json, use);
      out.line("{}", dump(json));
    } else {
      print_memory_use(out, use);
      print_parts(heap.map(), statistics, out);
      if (segments_) print_segments(heap.map(), statistics, out);
    }
    warn(heap, statistics.gaps, statistics.interrupted, out);
    for (const std::string& problem : use.problems) out.warning(problem);
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
    out.line("{} collector, {}, {}", map.state.server ? "server" : "workstation",
             map.state.regions() ? "regions" : "segments", count_text(map.state.heaps.size(), "heap"));
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

  std::vector<const CLI::Option*> of_types_; // options of rows by type
  HeapQuery query_;
  NewFile file_; // of --save
  std::string part_, sort_, other_;
  bool stat_ = false, live_ = false, dead_ = false, segments_ = false, verify_ = false, free_ = false,
       json_ = false;
};

} // namespace

CommandSpec heap_command() {
  return {"heap",
          "eeheap",
          "Show what fills the managed heap: its generations and segments, or its objects by type.",
          "clr heap --stat --top 20",
          "shows the twenty types whose objects fill most of the heap.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Heap>(app); },
          words_of_eeheap};
}

} // namespace clr::lldb_plugin
