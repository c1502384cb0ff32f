#include "core/runtime/gc_report.h"

#include "core/execution/gc_info.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

void decode(GcReport& report, GcDecoder& decoder) {
  report.header = decoder.header();
  report.slots = decoder.slots();
  std::size_t rows = 0;
  const auto room = [&](std::size_t more) {
    rows += more;
    if (rows <= GcReport::max_rows) return true;
    report.fault = fmt::format("there are more than {} live slots and changes; the rest is left out",
                               GcReport::max_rows);
    return false;
  };
  if (const auto point = decoder.safe_point_at(report.offset)) {
    report.spot = GcReport::Spot::safe_point;
    report.live = decoder.live_at_safe_point(*point).members();
  } else if (const auto live = decoder.live_in_range(report.offset)) {
    report.spot = GcReport::Spot::range;
    report.live = live->members();
  }
  decoder.for_each_safe_point([&](std::uint64_t offset, const GcSlotSet& live) {
    report.safe_points.push_back({offset, live.members()});
    return room(1 + report.safe_points.back().live.size());
  });
  for (const GcRange& range : decoder.ranges()) report.ranges.push_back({range, {}});
  auto range = report.ranges.begin();
  decoder.for_each_change([&](std::uint64_t offset, std::uint32_t slot, bool live) {
    while (offset >= range->range.end) ++range;
    range->changes.push_back({offset, slot, live});
    return room(1);
  });
  report.size = decoder.measure();
}

} // namespace

std::string_view to_string(GcReport::Spot spot) {
  switch (spot) {
  case GcReport::Spot::safe_point:
    return "safe_point";
  case GcReport::Spot::range:
    return "range";
  case GcReport::Spot::nowhere:
    return "nowhere";
  }
  return "nowhere";
}

GcReport report_gc_info(Runtime& runtime, const CodeBlock& block) {
  ExecutionManager& code = *runtime.code();
  GcReport report{.address = block.ip, .answer = runtime.describe(block, BodyFound::by_address)};
  const Target& target = code.target();
  const GcInfoLocation at = code.gc_info(block);
  report.offset = code.relative_offset(block);
  report.cpu = target.platform().cpu;
  report.gc_info = at.address;
  report.version = at.version;
  report.code_length = read_code_length(target, at.address, at.version);
  try {
    GcDecoder decoder(target, at.address, at.version);
    decode(report, decoder);
  } catch (const Error& error) {
    report.fault = error.what();
  }
  return report;
}

GcReport gc_info_at(Runtime& runtime, Address address) {
  require_runtime(runtime);
  const CodeLookup found = runtime.code()->find(address);
  if (const auto* block = std::get_if<CodeBlock>(&found)) return report_gc_info(runtime, *block);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{:#x} is no managed code: {}", address, std::get<execution::Miss>(found).text));
}

std::string describe_gc_slot(const GcReport& report, std::uint32_t index) {
  if (!report.header || index >= report.slots.slots.size()) return fmt::format("slot {}", index);
  const GcSlot& slot = report.slots.slots[index];
  const std::vector<std::string_view> words = gc_slot_words(slot);
  const std::string name = gc_slot_name(report.cpu, *report.header, slot);
  return words.empty() ? name : fmt::format("{} ({})", name, fmt::join(words, ", "));
}

std::string describe_gc_slots(const GcReport& report, const std::vector<std::uint32_t>& slots) {
  if (slots.empty()) return "nothing";
  std::vector<std::string> names;
  names.reserve(slots.size());
  for (const std::uint32_t slot : slots) names.push_back(describe_gc_slot(report, slot));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view to_string(GcMark::Kind kind) {
  switch (kind) {
  case GcMark::Kind::safe_point:
    return "safe_point";
  case GcMark::Kind::range_begin:
    return "range_begin";
  case GcMark::Kind::range_end:
    return "range_end";
  case GcMark::Kind::becomes_live:
    return "live";
  case GcMark::Kind::dies:
    return "dead";
  }
  return "safe_point";
}

std::vector<GcMark> gc_marks(const GcReport& report) {
  std::vector<GcMark> marks;
  const auto add = [&](std::uint64_t offset, GcMark::Kind kind, std::vector<std::uint32_t> slots,
                       std::string_view what) {
    std::string text = slots.empty() && kind == GcMark::Kind::range_end
                           ? std::string(what)
                           : fmt::format("{}{}", what, describe_gc_slots(report, slots));
    marks.push_back({offset, kind, std::move(slots), std::move(text)});
  };
  for (const GcReport::SafePoint& point : report.safe_points)
    add(point.offset, GcMark::Kind::safe_point, point.live, "safe point, live: ");
  for (const GcReport::Range& range : report.ranges) {
    const auto first = range.range.begin;
    std::vector<std::uint32_t> begin;
    // Changes of one instruction are one mark for each kind.
    auto change = range.changes.begin();
    for (; change != range.changes.end() && change->offset == first; ++change) begin.push_back(change->slot);
    add(first, GcMark::Kind::range_begin, std::move(begin), "range that may be interrupted, live: ");
    while (change != range.changes.end()) {
      const std::uint64_t offset = change->offset;
      std::vector<std::uint32_t> live, dead;
      for (; change != range.changes.end() && change->offset == offset; ++change)
        (change->live ? live : dead).push_back(change->slot);
      if (!dead.empty()) add(offset, GcMark::Kind::dies, std::move(dead), "dies: ");
      if (!live.empty()) add(offset, GcMark::Kind::becomes_live, std::move(live), "becomes live: ");
    }
    add(range.range.end, GcMark::Kind::range_end, {}, "end of the range");
  }
  std::ranges::stable_sort(marks, {}, &GcMark::offset);
  return marks;
}

} // namespace clr
