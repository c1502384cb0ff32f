#include "core/report/heap_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace clr {

namespace {

void add_gaps(Json& json, const std::vector<HeapGap>& gaps) {
  json["holes"] = Json::array();
  json["skipped"] = Json::array();
  for (const HeapGap& gap : gaps)
    json[gap.missing ? "holes" : "skipped"].push_back(
        {{"address", hex(gap.address)}, {gap.missing ? "size" : "bytes", gap.bytes}, {"why", gap.why}});
}

} // namespace

Json generation_json(HeapPart part) {
  if (part <= HeapPart::gen2) return static_cast<unsigned>(part);
  return to_string(part);
}

Json heap_json(const HeapMap& map, const HeapStatistics& statistics) {
  HeapCount live, free;
  std::uint64_t largest = 0;
  std::vector<Json> segments(map.state.heaps.size(), Json::array());
  for (std::size_t i = 0; i < map.ranges.size(); ++i) {
    const HeapRange& range = map.ranges[i];
    const HeapRangeCount& count = statistics.ranges[i];
    live += count.live;
    free += count.free;
    largest = std::max(largest, count.largest_free);
    segments[range.heap].push_back({{"address", hex(range.segment)},
                                    {"begin", hex(range.begin)},
                                    {"end", hex(range.end)},
                                    {"committed", hex(range.committed_end)},
                                    {"generation", generation_json(range.part)},
                                    {"objects", count.live.objects},
                                    {"bytes", count.live.bytes},
                                    {"free_objects", count.free.objects},
                                    {"free_bytes", count.free.bytes}});
  }
  Json json{{"kind", map.state.server ? "server" : "workstation"},
            {"regions", map.state.regions()},
            {"committed_bytes", map.committed_bytes},
            {"used_bytes", live.bytes},
            {"objects", live.objects},
            {"free_bytes", free.bytes},
            {"free_objects", free.objects},
            {"largest_free", largest},
            {"gc_in_progress", map.state.structures_invalid > 0}};
  if (statistics.interrupted) json["interrupted"] = true;
  add_gaps(json, statistics.gaps);
  json["problems"] = map.problems;
  json["heaps"] = Json::array();
  for (std::size_t i = 0; i < segments.size(); ++i)
    json["heaps"].push_back({{"index", i}, {"segments", std::move(segments[i])}});
  return json;
}

ContextOwners::ContextOwners(const ThreadList& threads) {
  for (const RuntimeThread& thread : threads.threads)
    if (thread.address != 0) threads_.try_emplace(thread.address, &thread);
}

const RuntimeThread* ContextOwners::of(const AllocationContext& context) const {
  const auto found = threads_.find(context.thread);
  return found == threads_.end() ? nullptr : found->second;
}

Json allocation_json(const AllocationContext& context, const RuntimeThread* owner, const HeapMap& map) {
  const HeapRange* const range = map.find(context.begin);
  Json json{{"owner", context.thread == 0 ? "collector" : "thread"},
            {"pointer", hex(context.begin)},
            {"limit", hex(context.end)},
            {"bytes_left", context.end - context.begin},
            {"generation", range == nullptr ? Json() : generation_json(range->part)}};
  if (context.thread == 0) return json;
  json["thread"] = owner != nullptr && owner->os_id ? Json(*owner->os_id) : Json();
  json["managed_id"] = owner != nullptr && owner->managed_id ? Json(*owner->managed_id) : Json();
  return json;
}

Json to_json(const HeapString& string, bool counted) {
  Json json{{"address", hex(string.address)}, {"length", string.length}, {"text", string.text}};
  if (counted) json["count"] = string.count;
  json["bytes"] = string.bytes;
  return json;
}

Json to_json(const HeapArray& row) {
  Json json{{"address", hex(row.object.address)},
            {"type", row.object.type->name},
            {"size", row.object.size},
            {"generation", generation_json(row.object.part)},
            {"elements", row.counts.elements},
            {"element_size", row.counts.element_size},
            {"empty", row.counts.empty}};
  if (!row.counts.whole) json["whole"] = false;
  return json;
}

Json to_json(const HeapArrays& found) {
  Json json{{"arrays", found.arrays}, {"bytes", found.bytes}, {"empty_bytes", found.empty_bytes}};
  if (found.interrupted) json["interrupted"] = true;
  add_gaps(json, found.gaps);
  json["rows"] = Json::array();
  for (const HeapArray& row : found.rows) json["rows"].push_back(to_json(row));
  return json;
}

Json free_json(HeapReporter& heap, const HeapFreeSpace& found) {
  Json json{{"parts", Json::array()}, {"largest", Json::array()}};
  HeapCount all;
  for (std::size_t i = 0; i < heap_part_count; ++i) {
    const FreePart& part = found.parts[i];
    if (part.bytes == 0) continue;
    all += part.free;
    Json classes = Json::array();
    for (std::size_t k = 0; k < free_classes.size(); ++k)
      classes.push_back(
          {{"least", free_classes[k]}, {"count", part.classes[k].objects}, {"bytes", part.classes[k].bytes}});
    json["parts"].push_back({{"generation", generation_json(static_cast<HeapPart>(i))},
                             {"bytes", part.bytes},
                             {"free_objects", part.free.objects},
                             {"free_bytes", part.free.bytes},
                             {"classes", std::move(classes)}});
  }
  json["free_objects"] = all.objects;
  json["free_bytes"] = all.bytes;
  for (const FreeBlock& block : found.largest) {
    Json row{{"address", hex(block.address)},
             {"bytes", block.bytes},
             {"generation", generation_json(block.part)},
             {"next", Json()}};
    if (block.next != 0)
      row["next"] = {{"object", hex(block.next)}, {"type", heap.type(block.next_type).name}};
    json["largest"].push_back(std::move(row));
  }
  if (found.interrupted) json["interrupted"] = true;
  add_gaps(json, found.gaps);
  return json;
}

Json to_json(const HeapTypeRow& row) {
  Json json{{"name", row.name}, {"method_table", hex(row.method_table)}};
  json["module"] = row.module.empty() ? Json() : Json(row.module);
  json["count"] = row.count.objects;
  json["bytes"] = row.count.bytes;
  return json;
}

void write_json(JsonWriter& json, const HeapObjectRow& row) {
  json.begin_object();
  json.hex("address", row.address);
  json.text("type", row.type->name);
  json.hex("method_table", row.type->method_table);
  json.number("size", row.size);
  json.key("generation");
  row.part <= HeapPart::gen2 ? json.number(static_cast<std::uint64_t>(row.part))
                             : json.text(to_string(row.part));
  json.end_object();
}

Json to_json(const HeapTypeReport& report, const HeapMap& map, std::optional<HeapPart> part,
             std::optional<bool> live) {
  Json json{{"objects", report.all.objects},
            {"bytes", report.all.bytes},
            {"free_objects", report.free.objects},
            {"free_bytes", report.free.bytes}};
  if (part) json["generation"] = generation_json(*part);
  if (live) json["live"] = *live;
  json["gc_in_progress"] = map.state.structures_invalid > 0;
  if (report.interrupted) json["interrupted"] = true;
  add_gaps(json, report.gaps);
  json["problems"] = map.problems;
  json["types"] = Json::array();
  for (const HeapTypeRow& row : report.rows) json["types"].push_back(to_json(row));
  return json;
}

} // namespace clr
