#include "core/describe/native_code.h"

#include <algorithm>
#include <utility>

namespace clr {
namespace {

// Behind the last place: the call itself may be its last byte, and a debugger looks up the return address.
constexpr std::uint64_t margin = 2;

// Ascending and each once; null for none.
std::shared_ptr<const FrameJumps> sorted(FrameJumps jumps) {
  if (jumps.empty()) return nullptr;
  std::ranges::stable_sort(jumps, {}, &FrameJump::sp);
  const auto same = std::ranges::unique(jumps, {}, &FrameJump::sp);
  jumps.erase(same.begin(), same.end());
  return std::make_shared<const FrameJumps>(std::move(jumps));
}

DebugCode function_of(std::span<const NativePlace> places, Address end, DebugModule& module) {
  const NativePlace& first = places.front();
  DebugCode code;
  code.start = first.start;
  code.size = end - first.start;
  code.function = false; // a breakpoint belongs into the true module
  code.name = code.full_name = first.name;
  DebugUnwindRange range{.begin = 0, .end = static_cast<std::uint32_t>(code.size), .rows = {}, .exact = true};
  DebugUnwindRows::List rows;
  for (const NativePlace& place : places) {
    if (!place.layout) continue;
    DebugUnwindRow& row = rows.emplace_back();
    row.offset = rows.size() == 1 ? 0 : static_cast<std::uint32_t>(place.lookup - code.start);
    row.layout = *place.layout;
    if (auto jumps = sorted(place.jumps)) {
      row.jumps = jumps.get();
      module.jumps.push_back(std::move(jumps));
    }
    range.interrupted = range.interrupted || place.layout->interrupted;
  }
  range.rows = std::move(rows);
  if (!range.rows.empty()) code.unwind.push_back(std::move(range));
  return code;
}

} // namespace

DebugModule describe_native(std::string file_name, const Platform& platform, std::vector<NativePlace> places,
                            std::size_t& dropped) {
  DebugModule module{.file_name = std::move(file_name), .platform = platform};
  const std::size_t all = places.size();
  std::erase_if(places, [](const NativePlace& place) {
    return place.start > place.lookup || place.lookup - place.start > max_native_size ||
           place.lookup > ~Address{0} - margin;
  });
  dropped += all - places.size();
  std::ranges::stable_sort(places, {}, &NativePlace::lookup);
  for (std::size_t first = 0; first < places.size();) {
    // A place whose function would begin before the last place belongs to the same one.
    std::size_t last = first + 1;
    while (last < places.size() && places[last].start <= places[last - 1].lookup) ++last;
    if (module.code.size() == max_native_functions) {
      dropped += places.size() - first;
      break;
    }
    Address end = places[last - 1].lookup + margin;
    if (last < places.size()) end = std::min(end, places[last].start);
    module.code.push_back(function_of(std::span(places).subspan(first, last - first), end, module));
    module.sections.push_back({.begin = module.code.back().start, .end = end, .bytes = {}});
    first = last;
  }
  return module;
}

} // namespace clr
