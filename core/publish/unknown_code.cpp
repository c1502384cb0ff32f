#include "core/publish/unknown_code.h"

#include "core/describe/stub_code.h"
#include "core/dwarf/guessed_frame.h"
#include "core/execution/call_counting_stub.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace clr {
namespace {

constexpr std::string_view unknown_module = "clr-code", unknown_name = "[unknown code]",
                           rest_name = "[code heap]";
// Less than that is no method with its header.
constexpr std::uint64_t least_rest = 32;

} // namespace

OwnedCode UnknownCode::code(Address begin, Address end) {
  OwnedCode owned;
  // A module of its own: it is made anew whenever code came to lie in it.
  owned.owner = std::make_shared<const CodeOwner>(
      CodeOwner{.file_name = std::string(unknown_module), .module = begin, .unknown = true});
  owned.range = begin;
  owned.code.start = begin;
  owned.code.size = std::min(end - begin, max_size);
  owned.code.name = owned.code.full_name = unknown_name;
  owned.code.function = false;
  owned.code.unit = unknown_module;
  owned.code.unwind.push_back(
      {.begin = 0, .end = static_cast<std::uint32_t>(owned.code.size), .rows = {}, .guessed = true});
  return owned;
}

std::vector<OwnedCode> UnknownCode::rests_of_heaps() {
  std::vector<OwnedCode> found;
  if (!can_guess_frames(runtime_->target()->platform().cpu)) return found;
  for (const RangeSection& section : runtime_->code()->sections()) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0) continue;
    const auto behind = state_->spans.lower_bound(section.end);
    // Of a heap without any code it is not known where it begins.
    if (behind == state_->spans.begin()) continue;
    const auto& [begin, span] = *std::prev(behind);
    if (begin < section.begin || span.unknown || span.end >= section.end ||
        section.end - span.end < least_rest)
      continue;
    OwnedCode rest = code(span.end, section.end);
    rest.code.name = rest.code.full_name = rest_name;
    found.push_back(std::move(rest));
  }
  return found;
}

std::vector<OwnedCode> UnknownCode::outside_of_sections(const std::vector<MemoryRange>& executable) {
  std::vector<OwnedCode> found;
  const Platform& platform = runtime_->target()->platform();
  if (!can_guess_frames(platform.cpu)) return found;
  MemoryReader& memory = runtime_->target()->memory();
  for (const MemoryRange& range : executable) {
    if (found.size() >= max_ranges) break;
    const bool described =
        std::ranges::any_of(runtime_->code()->sections(), [&](const RangeSection& section) {
          return section.begin < range.end() && range.begin < section.end;
        });
    std::set<ModuleId> modules;
    state_->modules_in(range.begin, range.end(), modules);
    if (described || !modules.empty() || range.size == 0) continue;
    OwnedCode unknown = code(range.begin, range.end());
    if (call_counting_target(memory, platform.cpu, range.begin)) {
      DebugCode stubs =
          stub_code(platform, StubKind::call_counting, range.begin, range.begin + unknown.code.size);
      stubs.unit = unknown.code.unit;
      unknown.code = std::move(stubs);
    }
    found.push_back(std::move(unknown));
  }
  return found;
}

} // namespace clr
