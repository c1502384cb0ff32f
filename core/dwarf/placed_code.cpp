#include "core/dwarf/placed_code.h"

#include "core/dwarf/elf_container.h"
#include "core/memory/error.h"

#include <algorithm>
#include <limits>

namespace clr {
namespace {

std::vector<const DebugSection*> sections_of(const DebugModule& module) {
  std::vector<const DebugSection*> sections;
  for (const DebugSection& section : module.sections)
    if (section.begin < section.end && module.platform.wrap(section.end) == section.end)
      sections.push_back(&section);
  std::ranges::sort(sections, {}, &DebugSection::begin);
  for (std::size_t i = 1; i < sections.size(); ++i)
    if (sections[i]->begin < sections[i - 1]->end)
      throw Error(ErrorKind::invalid_argument, sections[i]->begin, "sections of a module overlap");
  if (sections.size() > ElfContainer::max_sections) sections.resize(ElfContainer::max_sections);
  return sections;
}

} // namespace

PlacedModule place_code(const DebugModule& module) {
  PlacedModule placed{.sections = sections_of(module)};
  std::vector<const DebugCode*> all;
  all.reserve(module.code.size());
  for (const DebugCode& code : module.code) all.push_back(&code);
  const auto by_start = [](const DebugCode* code) { return code->start; };
  if (!std::ranges::is_sorted(all, {}, by_start)) std::ranges::stable_sort(all, {}, by_start);

  placed.code.reserve(all.size());
  std::size_t section = 0;
  Address free_from = 0;
  for (const DebugCode* code : all) {
    while (section < placed.sections.size() && placed.sections[section]->end <= code->start) ++section;
    if (section == placed.sections.size()) break;
    const DebugSection& around = *placed.sections[section];
    if (code->start < around.begin || code->start < free_from || code->size == 0) continue;
    if (code->size > around.end - code->start || code->size > std::numeric_limits<std::uint32_t>::max())
      continue;
    placed.code.push_back(
        {code, static_cast<std::uint32_t>(section), static_cast<std::uint32_t>(code->size)});
    free_from = code->start + code->size;
  }
  return placed;
}

} // namespace clr
