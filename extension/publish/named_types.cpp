#include "extension/publish/named_types.h"

#include "core/dwarf/elf_module_writer.h"
#include "core/objects/spelled_types.h"
#include "extension/lldb/kept_selection.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace clr::lldb_plugin {
namespace {

std::string first_parts(const SpelledName& name, std::size_t count) {
  return fmt::format(
      "{}", fmt::join(name.parts.begin(), name.parts.begin() + static_cast<std::ptrdiff_t>(count), "."));
}

// What may be a type in a name, the longest first: behind it follow static fields and members.
std::vector<std::string> types_in(const SpelledName& name) {
  std::vector<std::string> types;
  const std::size_t longest = name.colons ? name.parts.size() : name.parts.size() - 1;
  const std::size_t shortest = name.colons ? std::max<std::size_t>(longest - 1, 1) : 1;
  for (std::size_t count = longest; count >= shortest; --count) types.push_back(first_parts(name, count));
  return types;
}

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(name, '.')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

} // namespace

std::map<std::string, Address> NamedTypes::find(ObjectReader& objects, const std::set<std::string>& wanted) {
  std::vector<std::string> unknown;
  for (const std::string& name : wanted)
    if (!known_.contains(name)) unknown.push_back(name);
  if (!unknown.empty()) {
    const std::map<std::string, Address> found = find_spelled(objects, unknown);
    for (const std::string& name : unknown) {
      const auto at = found.find(name);
      known_[name] = at == found.end() ? 0 : at->second;
    }
  }
  std::map<std::string, Address> types;
  for (const std::string& name : wanted)
    if (const Address table = known_.at(name); table != 0) types.emplace(name, table);
  return types;
}

void NamedTypes::before_expression(std::string_view text) {
  std::vector<SpelledName> names = spelled_names(text);
  lldb::SBFrame frame = target_.GetProcess().GetSelectedThread().GetSelectedFrame();
  std::erase_if(names, [&](const SpelledName& name) {
    return !name.colons && frame.IsValid() && frame.FindVariable(name.parts.front().c_str()).IsValid();
  });
  if (names.empty()) return;
  const std::shared_ptr<Session> session = sessions_->at_stop();
  ObjectReader* const objects = session->runtime().objects();
  if (objects == nullptr) return;
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  const bool same_stop = stop == stop_;
  if (!same_stop) known_.clear();
  stop_ = stop;

  std::set<std::string> wanted;
  for (const SpelledName& name : names)
    for (std::string& type : types_in(name)) wanted.insert(std::move(type));
  const std::map<std::string, Address> types = find(*objects, wanted);
  std::set<std::string> chosen, fields;
  const auto choose = [&](bool colons) {
    for (const SpelledName& name : names) {
      if (name.colons != colons) continue;
      const std::vector<std::string> possible = types_in(name);
      const auto found =
          std::ranges::find_if(possible, [&](const std::string& type) { return types.contains(type); });
      if (found == possible.end()) continue;
      chosen.insert(*found);
      const std::size_t parts = parts_of(*found).size();
      if (parts < name.parts.size()) fields.insert(first_parts(name, parts + 1));
    }
    return !chosen.empty();
  };
  const bool colons = choose(true);
  if (!colons && !choose(false)) return;
  // Of static fields those that this expression names, and no others: DebugModule::globals says why.
  const bool goes_on = same_stop && colons && colons_ && module_.IsValid() && described_.size() < max_named;
  if (goes_on && std::ranges::includes(described_, chosen)) return;
  if (goes_on) chosen.insert(described_.begin(), described_.end());

  std::vector<NamedType> named;
  for (const std::string& name : chosen)
    named.push_back({.path = parts_of(name), .method_table = known_.at(name)});
  Omissions omissions; // LLDB's own error names what it does not find
  DebugModule described = named_types_module(objects->layouts(), named, colons, omissions);
  std::erase_if(described.globals, [&](const DebugField& global) { return !fields.contains(global.name); });
  if (described.globals.empty() && described.aliases.empty()) return;
  described.identity = new_module_identity();
  lldb::SBModule made;
  const char* const triple = target_.GetTriple();
  write_elf_module(described, [&](FileParts elf) {
    made = load_module(triple != nullptr ? triple : "", described.file_name, elf);
  });
  const KeptSelection selection(target_);
  withdraw();
  target_.AddModule(made);
  module_ = std::move(made);
  described_ = std::move(chosen);
  colons_ = colons;
}

void NamedTypes::withdraw() {
  if (!module_.IsValid()) return;
  withdraw_module(target_, module_);
  module_ = {};
  described_.clear();
}

} // namespace clr::lldb_plugin
