#include "core/publish/code_modules.h"

#include "core/describe/unwind_rows.h"

#include <algorithm>
#include <map>

namespace clr {
namespace {

// Lets the lines of `code` refer to the files of `module`; `known` maps the indexes in `from` to those.
void move_files(DebugBody& code, DescribedModule& module, const SourceFiles& from,
                std::map<std::uint32_t, std::uint32_t>& known) {
  for (DebugLineRow& row : code.lines) {
    if (row.line == 0 || row.file >= from.names.size()) continue;
    const auto [file, is_new] = known.try_emplace(row.file, static_cast<std::uint32_t>(module.files.size()));
    if (is_new) module.files.push_back(from.names[row.file]);
    row.file = file->second;
  }
}

void cut_code(DebugBody& code, std::uint64_t size) {
  code.size = size;
  std::erase_if(code.unwind, [&](const DebugUnwindRange& range) { return range.begin >= size; });
  if (!code.unwind.empty() && code.unwind.back().end > size)
    UnwindRows::cut_end(code.unwind.back(), static_cast<std::uint32_t>(size));
  std::erase_if(code.lines, [&](const DebugLineRow& row) { return row.offset >= size; });
}

bool same_owner(const OwnedCode& a, const OwnedCode& b) {
  return a.owner == b.owner || *a.owner == *b.owner;
}

} // namespace

std::vector<OwnedCode*> pointers_to(std::vector<OwnedCode>& code) {
  std::vector<OwnedCode*> pointers;
  pointers.reserve(code.size());
  for (OwnedCode& owned : code) pointers.push_back(&owned);
  return pointers;
}

std::vector<OwnedModule> group_code(std::vector<OwnedCode*> code, const Platform& platform,
                                    const std::function<bool(Address, Address)>& between,
                                    std::size_t& dropped) {
  const auto start_of = [](const OwnedCode* owned) { return owned->code->start; };
  // The code of an image comes in order.
  if (!std::ranges::is_sorted(code, {}, start_of)) std::ranges::stable_sort(code, {}, start_of);
  std::map<CodeOwner, std::size_t> left; // code of each owner that has no module yet
  for (const OwnedCode* const owned : code) ++left[*owned->owner];
  std::vector<OwnedModule> modules;
  std::map<CodeOwner, std::size_t> open; // position in `modules` of the one that is being filled
  std::vector<std::map<std::uint32_t, std::uint32_t>> files; // of each module
  const OwnedCode* before = nullptr;
  Address before_end = 0;
  std::size_t current = 0; // position in `modules`
  const auto module_of = [&](const CodeOwner& owner) {
    const auto [at, is_new] = open.try_emplace(owner, modules.size());
    const bool full = !is_new && (modules[at->second].module.sections.size() >= max_sections_of_module ||
                                  modules[at->second].module.size() >= max_codes_of_module);
    if (is_new || full) {
      at->second = modules.size();
      std::size_t& rest = left[owner];
      const std::size_t room = std::min(rest, max_codes_of_module);
      rest -= room;
      files.emplace_back();
      OwnedModule& made = modules.emplace_back();
      made.owner = owner;
      made.module.file_name = owner.file_name;
      made.module.platform = platform;
      made.module.reserve(room);
    }
    return at->second;
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    OwnedCode& owned = *code[i];
    const Address start = owned.code->start;
    const bool twice = before != nullptr && start < before_end;
    if (owned.code->size == 0 || start + owned.code->size <= start || twice) {
      ++dropped;
      continue;
    }
    // A size that reaches into other code is a lie; where the other begins is certain.
    const auto next = std::find_if(code.begin() + static_cast<std::ptrdiff_t>(i) + 1, code.end(),
                                   [&](const OwnedCode* other) { return other->code->start != start; });
    if (next != code.end() && (*next)->code->size != 0 && (*next)->code->start - start < owned.code->size) {
      cut_code(*owned.code, (*next)->code->start - start);
      ++dropped;
    }
    const Address end = start + owned.code->size;
    const bool joins = before != nullptr && same_owner(*before, owned) && before->range == owned.range &&
                       start - before_end <= max_section_gap &&
                       modules[current].module.size() < max_codes_of_module &&
                       !(between && start > before_end && between(before_end, start));
    if (!joins) {
      current = module_of(*owned.owner);
      modules[current].module.sections.push_back({.begin = start, .end = end, .bytes = {}});
    }
    DescribedModule& module = modules[current].module;
    module.sections.back().end = end;
    before = &owned;
    before_end = end;
    if (owned.files) move_files(*owned.code, module, *owned.files, files[current]);
    if (owned.source) modules[current].sources.emplace_back(module.size(), std::move(owned.source));
    module.add(std::move(owned.code));
  }
  return modules;
}

} // namespace clr
