#include "core/publish/code_modules.h"

#include <algorithm>
#include <map>

namespace clr {
namespace {

// Lets the lines of `code` refer to the files of `module`; `known` maps the indexes in `from` to those.
void move_files(DebugCode& code, DebugModule& module, const SourceFiles& from,
                std::map<std::uint32_t, std::uint32_t>& known) {
  for (DebugLineRow& row : code.lines) {
    if (row.line == 0 || row.file >= from.names.size()) continue;
    const auto [file, is_new] = known.try_emplace(row.file, static_cast<std::uint32_t>(module.files.size()));
    if (is_new) module.files.push_back(from.names[row.file]);
    row.file = file->second;
  }
}

} // namespace

std::vector<OwnedModule> group_code(std::vector<OwnedCode> code, const Platform& platform,
                                    const std::function<bool(Address, Address)>& between,
                                    std::size_t& dropped) {
  std::ranges::stable_sort(code, {}, [](const OwnedCode& owned) { return owned.code.start; });
  std::vector<OwnedModule> modules;
  std::map<CodeOwner, std::size_t> open; // position in `modules` of the one that is being filled
  std::vector<std::map<std::uint32_t, std::uint32_t>> files; // of each module
  const OwnedCode* before = nullptr;
  Address before_end = 0;
  std::size_t current = 0; // position in `modules`
  const auto module_of = [&](const CodeOwner& owner) {
    const auto [at, is_new] = open.try_emplace(owner, modules.size());
    const bool full = !is_new && (modules[at->second].module.sections.size() >= max_sections_of_module ||
                                  modules[at->second].module.code.size() >= max_codes_of_module);
    if (is_new || full) {
      at->second = modules.size();
      files.emplace_back();
      modules.push_back({.owner = owner, .module = {.file_name = owner.file_name, .platform = platform}});
    }
    return at->second;
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
                       modules[current].module.code.size() < max_codes_of_module &&
                       !(between && start > before_end && between(before_end, start));
    if (!joins) {
      current = module_of(owned.owner);
      modules[current].module.sections.push_back({.begin = start, .end = end, .bytes = {}});
    }
    DebugModule& module = modules[current].module;
    module.sections.back().end = end;
    last_owner = owned.owner;
    last_range = owned.range;
    before = &owned;
    before_end = end;
    if (owned.files) move_files(owned.code, module, *owned.files, files[current]);
    module.code.push_back(std::move(owned.code));
  }
  return modules;
}

} // namespace clr
