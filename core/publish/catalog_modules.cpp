#include "core/publish/catalog_modules.h"

#include "core/describe/code_names.h"
#include "core/describe/debug_variables.h"
#include "core/describe/interruptions.h"

#include <algorithm>
#include <utility>

namespace clr {

void CatalogModules::set_starts(std::vector<Address> starts) {
  starts_ = std::move(starts);
  // They come in the order of the heaps but for a few.
  const auto few = std::ranges::is_sorted_until(starts_);
  std::ranges::sort(few, starts_.end());
  std::ranges::inplace_merge(starts_, few);
}

void CatalogModules::add_source(Address start, const CodeBlock& block, Method method) {
  sources_.insert_or_assign(start, Source{block, std::move(method)});
}

void CatalogModules::make(std::vector<OwnedCode*> described) {
  const auto between = [&](Address begin, Address end) {
    const auto next = std::ranges::lower_bound(starts_, begin);
    if (next != starts_.end() && *next < end) return true;
    std::set<ModuleId> found;
    state_.modules_in(begin, end, found);
    return !found.empty();
  };
  for (OwnedModule& owned :
       group_code(std::move(described), runtime_.target()->platform(), between, dropped_)) {
    DebugModule& module = owned.module;
    const ModuleId id = ++state_.last_module;
    if (options_.variables) add_variables(module);
    if (options_.readable && owned.owner.image) add_bytes(module);
    for (const DebugSection& section : module.sections)
      state_.spans[section.begin] = {section.end, id, owned.owner.unknown};
    for (const DebugCode& code : module.code) {
      if (!owned.owner.image)
        if (KnownBodies::Body* const known = state_.bodies.find(code.start)) known->module = id;
      if (const auto stub = state_.stubs.find(code.start); stub != state_.stubs.end()) stub->second = id;
    }
    CatalogModule made{.id = id, .module = std::move(module), .unknown = owned.owner.unknown};
    if (options_.made) {
      options_.made(std::move(made));
    } else {
      spell_names(made.module);
      added_.push_back(std::move(made));
    }
  }
}

void CatalogModules::add_variables(DebugModule& module) {
  std::optional<DebugVariables> variables;
  for (DebugCode& code : module.code) {
    const auto source = sources_.find(code.start);
    if (source == sources_.end() || stop_()) continue;
    if (!variables) variables.emplace(runtime_, module);
    variables->add(code, source->second.block, source->second.method);
    sources_.erase(source);
  }
  for (std::size_t i = 1; i < module.code.size(); ++i)
    if (DebugCode& before = module.code[i - 1];
        before.before_entry && before.start + before.size == module.code[i].start)
      copy_entry_variables(module.code[i], before);
}

void CatalogModules::add_bytes(DebugModule& module) {
  for (DebugSection& section : module.sections) {
    const std::uint64_t size = section.end - section.begin;
    if (options_.readable(section.begin) || size > max_code_bytes - code_bytes_) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (runtime_.target()->memory().read_some(section.begin, bytes) != bytes.size()) continue;
    code_bytes_ += size;
    section.bytes = std::move(bytes);
  }
}

} // namespace clr
