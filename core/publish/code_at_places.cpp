#include "core/publish/code_at_places.h"

#include "core/describe/code_names.h"
#include "core/memory/utf8.h"

#include <fmt/format.h>

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
  if (list) {
    try {
      if (const auto part = run.code.precode_part(place)) placed.precodes.push_back(*part);
    } catch (const Error&) {
      // Whose precode it is cannot be read: it is called by its kind.
    }
  }
  if (list || (section->r2r_module != 0 && stub))
    placed.stub_sections.insert(section->begin);
  else if (stub)
    placed.stub_heaps.insert(section->begin);
}

} // namespace

CodeAtPlaces code_at_places(UpdateRun& run, std::span<const Address> places) {
  CodeAtPlaces placed;
  for (const Address place : places) {
    if (run.stop()) break;
    run.guarded([&] { return fmt::format("the code at {:#x}", place); }, [&] { add(run, place, placed); });
  }
  each_once(placed.jitted);
  each_once(placed.images);
  return placed;
}

std::string stub_name(const Method& method, const Precodes::Part& part) {
  const std::string full = kickoff_names(method).full_name;
  const std::string_view name = cut_utf8(full, max_stub_name);
  return part.code ? fmt::format("{} [{}]", name, to_string(part.kind)) : std::string(name);
}

void name_precodes(UpdateRun& run, CodeAtPlaces& placed) {
  CatalogState& state = run.state;
  for (const Precodes::Part& part : placed.precodes) {
    // One method's precode may become another's when its heap is freed.
    const auto known = state.named_stubs.find(part.begin);
    if (known != state.named_stubs.end() && known->second.method_desc == part.method_desc) continue;
    if (known == state.named_stubs.end() && state.named_stubs.size() >= run.options.named_stubs) {
      run.problem(
          fmt::format("no more than {} stubs have the names of their methods", run.options.named_stubs));
      break;
    }
    if (run.stop()) break;
    state.named_stubs.insert_or_assign(
        part.begin, CatalogState::NamedStub{.end = part.end,
                                            .method_desc = part.method_desc,
                                            .name = stub_name(run.runtime.describe(part.method_desc), part)});
    state.modules_in(part.begin, part.end, placed.renamed);
  }
  for (const auto& [begin, module] : state.stubs) {
    if (!placed.renamed.contains(module)) continue;
    if (const RangeSection* const section = run.code.section_at(begin))
      placed.stub_sections.insert(section->begin);
  }
}

} // namespace clr
