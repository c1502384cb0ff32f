#include "core/publish/code_modules.h"

#include <algorithm>

namespace clr {

std::vector<OwnedModule> group_code(std::vector<OwnedCode> code, const Platform& platform,
                                    const std::function<bool(Address, Address)>& between,
                                    std::size_t& dropped) {
  std::ranges::stable_sort(code, {}, [](const OwnedCode& owned) { return owned.code.start; });
  std::vector<OwnedModule> modules;
  std::map<CodeOwner, std::size_t> open; // position in `modules` of the one that is being filled
  const OwnedCode* before = nullptr;
  Address before_end = 0;
  OwnedModule* current = nullptr;
  const auto module_of = [&](const CodeOwner& owner) -> OwnedModule& {
    const auto [at, is_new] = open.try_emplace(owner, modules.size());
    const bool full = !is_new && (modules[at->second].module.sections.size() >= max_sections_of_module ||
                                  modules[at->second].module.code.size() >= max_codes_of_module);
    if (is_new || full) {
      at->second = modules.size();
      modules.push_back({.owner = owner, .module = {.file_name = owner.file_name, .platform = platform}});
    }
    return modules[at->second];
  };
  CodeOwner last_owner;
  Address last_range = 0;
  for (OwnedCode& owned : code) {
    const Address start = owned.code.start, end = start + owned.code.size;
    if (end <= start || (before != nullptr && start < before_end)) {
      ++dropped;
      continue;
    }
    const bool joins = before != nullptr && last_owner == owned.owner && last_range == owned.range &&
                       start - before_end <= max_section_gap &&
                       current->module.code.size() < max_codes_of_module &&
                       !(between && start > before_end && between(before_end, start));
    if (!joins) {
      current = &module_of(owned.owner);
      current->module.sections.push_back({.begin = start, .end = end, .bytes = {}});
    }
    current->module.sections.back().end = end;
    last_owner = owned.owner;
    last_range = owned.range;
    before = &owned;
    before_end = end;
    current->module.code.push_back(std::move(owned.code));
  }
  return modules;
}

} // namespace clr
