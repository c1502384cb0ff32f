#include "core/memory/error.h"
#include "core/report/page/heap_picture.h"
#include "core/report/page/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace clr {

namespace {

void miss_of_heap(PageStop& stop, const std::vector<HeapGap>& gaps) {
  HeapReporter& heap = stop.source().heap();
  for (std::string& text : heap.warnings()) stop.miss(std::move(text));
  for (std::string& text : gap_texts(gaps, heap.map().bytes())) stop.miss(std::move(text));
}

// "gen0 1.2 MB, gen2 30.0 MB": what the objects of each part fill.
std::string parts_text(const HeapMap& map, const HeapStatistics& statistics) {
  std::map<HeapPart, std::uint64_t> bytes;
  for (std::size_t i = 0; i < map.ranges.size(); ++i)
    bytes[map.ranges[i].part] += statistics.ranges[i].live.bytes;
  std::string text;
  for (const auto& [part, size] : bytes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(part), size_text(size));
  return text;
}

} // namespace

void write_heap_types(HtmlWriter& html, PageStop& stop) {
  HeapReporter& heap = stop.source().heap();
  const HeapStatistics& statistics = heap.statistics(stop.source().options);
  stop.check();
  const HeapTypeReport report = heap.count_types({}, statistics);
  miss_of_heap(stop, report.gaps);
  html.element("p", fmt::format("{} of {}, {} ({} bytes); {} of free blocks; {} committed",
                                count_text(report.all.objects, "object", Digits::grouped),
                                count_text(report.types, "type", Digits::grouped),
                                size_text(report.all.bytes), grouped(report.all.bytes),
                                size_text(report.free.bytes), size_text(heap.map().committed_bytes)));
  if (const std::string parts = parts_text(heap.map(), statistics); !parts.empty()) html.element("p", parts);
  if (report.rows.empty()) return;
  std::vector<HeapTile> tiles;
  std::uint64_t others = report.all.bytes;
  for (const HeapTypeRow& row : report.rows) {
    if (tiles.size() == max_page_tiles) break;
    tiles.push_back({row.name,
                     fmt::format("{}, {} bytes", count_text(row.count.objects, "object", Digits::grouped),
                                 grouped(row.count.bytes)),
                     row.count.bytes});
    others -= std::min(others, row.count.bytes);
  }
  if (others != 0)
    tiles.push_back({count_text(report.types - tiles.size(), "more type", Digits::grouped),
                     fmt::format("{} bytes", grouped(others)), others});
  draw(html, tiles);
  html.begin("table");
  write_head(html, {"#bytes", "#", "#count", "#average", "type"});
  const std::size_t left = write_some(html, report.rows.size(), max_page_types, [&](std::size_t i) {
    const HeapTypeRow& row = report.rows[i];
    html.begin("tr", {{"title", fmt::format("{} {:#x}", row.module, row.method_table)}});
    write_number(html, row.count.bytes);
    html.element("td",
                 report.all.bytes == 0
                     ? "?"
                     : fmt::format("{:.1f} %", 100.0 * static_cast<double>(row.count.bytes) /
                                                   static_cast<double>(report.all.bytes)),
                 {{"class", "n"}});
    write_number(html, row.count.objects);
    write_number(html, row.count.objects == 0 ? 0 : row.count.bytes / row.count.objects);
    write_cell(html, row.name);
    html.end();
  });
  html.end();
  write_more(html, left, "types");
}

namespace {

HeapRetainers& whole_retainers(PageStop& stop) {
  // Where a part of the heap is missing, what holds what is not known.
  const HeapMap& map = stop.source().heap().map();
  const HeapStatistics& statistics = stop.source().heap().statistics(stop.source().options);
  std::uint64_t missing = 0;
  for (const HeapGap& gap : statistics.gaps) missing += gap.missing ? gap.bytes : 0;
  if (map.bytes() != 0 && missing == map.bytes())
    throw Error(ErrorKind::memory_missing, "the managed heap is not in this core");
  return stop.source().retainers();
}

void write_retained(HtmlWriter& html, PageStop& stop, const std::vector<RetainedRow>& rows,
                    std::string_view what) {
  for (const std::string& note : stop.source().holders().notes()) stop.miss(note);
  if (rows.empty()) {
    html.element("p", "None is known.");
    return;
  }
  html.begin("table");
  write_head(html, {"#retained", "#", "#objects", "#own bytes", what});
  write_some(html, rows.size(), max_page_retained, [&](std::size_t i) {
    const RetainedRow& row = rows[i];
    html.begin("tr");
    write_number(html, row.retained);
    html.element("td", size_text(row.retained), {{"class", "n"}});
    write_number(html, row.count);
    write_number(html, row.bytes);
    write_cell(html, fmt::format("{}{}{}", row.object == 0 ? "" : fmt::format("{:#x} ", row.object), row.type,
                                 row.field.empty() ? "" : fmt::format(" in {}", row.field)));
    html.end();
  });
  html.end();
}

std::string root_words(const HeapRoot& root, LockReporter& locks) {
  switch (root.kind) {
  case HeapRoot::Kind::static_field:
    return root.name.empty() ? "a static field" : fmt::format("the static field {}", root.name);
  case HeapRoot::Kind::thread_static:
    return fmt::format("a static field of {}", locks.thread_text(root.os_id));
  case HeapRoot::Kind::stack:
    return fmt::format("the stack of {}", locks.thread_text(root.os_id));
  case HeapRoot::Kind::handle:
    return fmt::format("a {} handle", to_string(root.handle_kind));
  case HeapRoot::Kind::finalizer:
    return "the finalizer queue";
  }
  return {};
}

void write_path(HtmlWriter& html, PageStop& stop, const RetainedRow& row) {
  const std::vector<HeapPath> paths =
      stop.source().holders().paths(row.object, 1, stop.source().options).paths;
  if (paths.empty()) return;
  LockReporter& locks = stop.source().locks();
  locks.table_by_stacks();
  html.begin("details");
  html.element("summary",
               fmt::format("who holds {:#x} {} ({})", row.object, row.type, size_text(row.retained)));
  html.begin("ol", {{"class", "frames"}});
  html.element("li", root_words(paths.front().root, locks));
  const std::vector<HeapStep>& steps = paths.front().steps;
  const std::size_t left = write_some(html, steps.size(), max_page_steps, [&](std::size_t i) {
    const HeapStep& step = steps[i];
    html.begin("li", {{"class", "managed"}});
    if (step.left_out != 0) html.text(fmt::format("behind {} more steps: ", step.left_out));
    if (!step.field.empty()) html.text(fmt::format("{}: ", step.field));
    html.element("b", step.type.empty() ? "an object" : step.type);
    html.element("span", fmt::format(" {:#x}", step.object), {{"class", "dim"}});
    html.end();
  });
  html.end();
  write_more(html, left, "steps");
  html.end();
}

} // namespace

void write_retained_objects(HtmlWriter& html, PageStop& stop) {
  const std::vector<RetainedRow> rows =
      whole_retainers(stop).objects("", max_page_retained, stop.source().options);
  html.element("p", "With an object would go all that is reached through it alone.", {{"class", "dim"}});
  write_retained(html, stop, rows, "object");
  write_some(html, rows.size(), max_page_paths, [&](std::size_t i) {
    stop.check();
    write_path(html, stop, rows[i]);
  });
}

void write_retained_types(HtmlWriter& html, PageStop& stop) {
  write_retained(html, stop, whole_retainers(stop).types("", max_page_retained, stop.source().options),
                 "type");
}

void write_retained_statics(HtmlWriter& html, PageStop& stop) {
  html.element("p", "Static fields that are the only way to the object that they hold.", {{"class", "dim"}});
  write_retained(html, stop, whole_retainers(stop).statics("", max_page_retained, stop.source().options),
                 "object and field");
}

} // namespace clr
