#include "core/publish/code_at_places.h"

#include <algorithm>

namespace clr {
namespace {

void each_once(std::vector<CodeBlock>& blocks) {
  std::ranges::sort(blocks, {}, &CodeBlock::start);
  const auto rest = std::ranges::unique(blocks, {}, &CodeBlock::start);
  blocks.erase(rest.begin(), rest.end());
}

void add(UpdateRun& run, Address place, CodeAtPlaces& placed) {
  const CodeLookup found = run.code.find(place);
  if (const auto* const at = std::get_if<CodeBlock>(&found)) {
    CodeBlock block = *at;
    block.ip = block.start;
    if (block.kind == CodeKind::jitted) placed.jitted.push_back(block);
    if (block.kind == CodeKind::ready_to_run) {
      block.function_index = block.method_index;
      placed.images.push_back(block);
    }
    return;
  }
  const RangeSection* const section = run.code.section_at(place);
  if (section == nullptr) return;
  const bool stub = std::get<execution::Miss>(found).stub.has_value();
  const bool list = (section->flags & RangeSection::range_list_flag) != 0;
  if (list || (section->r2r_module != 0 && stub))
    placed.stub_sections.insert(section->begin);
  else if (stub)
    placed.stub_heaps.insert(section->begin);
}

} // namespace

CodeAtPlaces code_at_places(UpdateRun& run, std::span<const Address> places) {
  CodeAtPlaces placed;
  for (const Address place : places)
    run.guarded([&] { return fmt::format("the code at {:#x}", place); }, [&] { add(run, place, placed); });
  each_once(placed.jitted);
  each_once(placed.images);
  return placed;
}

} // namespace clr
