#include "core/describe/exception_handlers.h"

#include "core/describe/line_rows.h"
#include "core/isa/x64/instruction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace clr {
namespace {

constexpr std::array<std::byte, 3> lea_rax_rip{std::byte{0x48}, std::byte{0x8D}, std::byte{0x05}};
constexpr std::size_t lea_size = 7;

// The part of a body, hot or cold, that holds an address.
struct BodyPart {
  Address begin = 0, end = 0;
  std::uint64_t offset = 0; // of its start, hot and cold parts linearised
};

BodyPart part_of(const MethodRegions& regions, Address address) {
  if (address - regions.hot_start < regions.hot_size)
    return {regions.hot_start, regions.hot_start + regions.hot_size, 0};
  return {regions.cold_start, regions.cold_start + regions.cold_size, regions.hot_size};
}

} // namespace

std::vector<Address> handler_entries(ExecutionManager& code, const CodeBlock& block) {
  std::vector<Address> entries;
  for (const ExecutionManager::Function& function : code.functions(block)) {
    if (function.begin == block.start) continue;
    CodeBlock at = block;
    at.ip = function.begin;
    // Not the fragments of a large function, nor a cold part of the main body.
    if (code.is_funclet(at) && code.funclet_start(at) == function.begin) entries.push_back(function.begin);
  }
  std::ranges::sort(entries);
  return entries;
}

std::vector<HandlerPlace> handler_places(ExecutionManager& code, const CodeBlock& block, const IlMap& map,
                                         const std::vector<SequencePoint>& points) {
  const std::vector<Address> entries = handler_entries(code, block);
  const MethodRegions regions = code.regions(block);
  const std::vector<IlStretch> stretches = map.stretches();
  std::vector<HandlerPlace> places;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const BodyPart part = part_of(regions, entries[i]);
    const Address end = i + 1 < entries.size() ? std::min(entries[i + 1], part.end) : part.end;
    HandlerPlace place{.entry = entries[i], .begin = entries[i], .line = {}};
    const std::uint64_t first = part.offset + (entries[i] > part.begin ? entries[i] - part.begin : 0);
    auto stretch = std::ranges::lower_bound(stretches, first, {}, &IlStretch::begin);
    for (; stretch != stretches.end(); ++stretch) {
      const Address begin = part.begin + (stretch->begin - part.offset);
      if (begin >= end) break;
      if (begin == entries[i] && stretch->position.mark == IlMark::prolog &&
          stretch->end - stretch->begin < end - begin)
        place.begin = begin + (stretch->end - stretch->begin);
      if (stretch->position.mark != IlMark::mapped) continue;
      const SequencePoint* const point = point_at(points, stretch->position.il);
      if (point == nullptr || point->hidden) continue;
      place.line = begin;
      break;
    }
    places.push_back(place);
  }
  return places;
}

std::vector<ResumePlace> resume_places(ExecutionManager& code, MemoryReader& memory, const CodeBlock& block) {
  std::vector<ResumePlace> places;
  if (!code.is_funclet(block)) return places;
  const std::vector<Address> entries = handler_entries(code, block);
  const MethodRegions regions = code.regions(block);
  const auto behind = std::ranges::upper_bound(entries, block.ip);
  if (behind == entries.begin()) return places;
  const Address begin = *std::prev(behind);
  const Address part_end = part_of(regions, begin).end;
  const Address end = behind != entries.end() && *behind < part_end ? *behind : part_end;
  if (end <= begin || end - begin > max_funclet) return places;
  std::vector<std::byte> bytes(static_cast<std::size_t>(end - begin));
  memory.read(begin, bytes);
  const auto inside = [&](Address at) {
    return at - regions.hot_start < regions.hot_size || at - regions.cold_start < regions.cold_size;
  };
  for (std::size_t at = 0; at < bytes.size();) {
    const auto rest = std::span<const std::byte>(bytes).subspan(at);
    const unsigned length = x64_instruction_length(rest);
    if (length == 0) break;
    at += length;
    if (length != lea_size || !std::ranges::equal(rest.first(lea_rax_rip.size()), lea_rax_rip)) continue;
    const auto distance =
        static_cast<std::int32_t>(load<std::uint32_t>(rest.subspan(lea_rax_rip.size()), ByteOrder::little));
    const Address place = begin + at + static_cast<Address>(static_cast<std::int64_t>(distance));
    if (inside(place) && (place < begin || place >= end))
      places.push_back({.left = begin + at, .begins = place});
  }
  return places;
}

} // namespace clr
