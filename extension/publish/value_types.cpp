#include "extension/publish/value_types.h"

#include "core/describe/value_types.h"
#include "core/dwarf/elf_module_writer.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <set>

namespace clr::lldb_plugin {
namespace {

// Types may have one name: of several versions of an assembly. A type that was unloaded may have given its
// MethodTable to another.
std::string identity_of(const TypeUse& use) {
  std::string identity =
      fmt::format("{} {:#x} {}", static_cast<int>(use.kind), use.method_table, format_type(*use.name));
  for (const TypeUse* part = use.element.get(); part != nullptr; part = part->element.get())
    identity += fmt::format(" {:#x}", part->method_table);
  return identity;
}

} // namespace

void ValueTypes::prepare(TypeLayouts& layouts, std::span<const TypeUsePtr> uses) {
  std::vector<TypeUsePtr> wanted;
  std::vector<std::string> identities;
  std::set<std::string> seen;
  for (const TypeUsePtr& use : uses) {
    std::string identity = identity_of(*use);
    if (known_.contains(identity) || !seen.insert(identity).second) continue;
    wanted.push_back(use);
    identities.push_back(std::move(identity));
  }
  if (wanted.empty()) return;
  if (modules_.size() >= max_modules) forget();
  Omissions omissions; // a value without a type is not shown, and LLDB's raw view tells of it
  DebugModule described = value_types_module(layouts, wanted, omissions);
  described.identity = new_module_identity();
  lldb::SBModule module;
  const char* const triple = target_.GetTriple();
  write_elf_module(described, [&](FileParts elf) {
    module = load_module(triple != nullptr ? triple : "", described.file_name, elf);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    lldb::SBValueList found = module.FindGlobalVariables(target_, value_type_name(i).c_str(), 1);
    known_[identities[i]] = found.GetSize() == 0 ? lldb::SBType() : found.GetValueAtIndex(0).GetType();
  }
  modules_.push_back(std::move(module));
}

lldb::SBType ValueTypes::find(const TypeUse& use) const {
  const auto found = known_.find(identity_of(use));
  return found == known_.end() ? lldb::SBType() : found->second;
}

void ValueTypes::forget() {
  if (modules_.empty()) return;
  known_.clear();
  modules_.clear();
  lldb::SBModule::GarbageCollectAllocatedModules();
}

} // namespace clr::lldb_plugin
