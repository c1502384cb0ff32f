#include "extension/publish/named_types.h"

#include "core/dwarf/elf_module_writer.h"
#include "core/objects/loaded_types.h"
#include "core/objects/spelled_types.h"
#include "extension/lldb/breakpoint_conditions.h"
#include "extension/lldb/kept_selection.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <algorithm>

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

// Not so LLDB 14 and 15.
bool tells_types_apart() {
  return version_of_lldb() == 0 || version_of_lldb() >= 16;
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
      const std::size_t parts = parts_of_name(*found).size();
      if (parts < name.parts.size()) fields.insert(first_parts(name, parts + 1));
    }
    return !chosen.empty();
  };
  const bool colons = choose(true);
  if (!colons && !choose(false)) return;
  // Of static fields those that this expression names, and no others: DebugModule::globals says why.
  const bool there = colons && colons_ && is_published();
  // A static field may have got its place since all types were described.
  if (there && std::ranges::includes(described_, chosen) && (loaded_ ? fields.empty() : same_stop)) return;
  const bool goes_on = there && same_stop && !loaded_ && described_.size() < max_named;
  if (goes_on) chosen.insert(described_.begin(), described_.end());

  std::vector<NamedType> named;
  for (const std::string& name : chosen)
    named.push_back({.path = parts_of_name(name), .method_table = known_.at(name)});
  Omissions omissions; // LLDB's own error names what it does not find
  DebugModule described = named_types_module(objects->layouts(), named, colons, omissions);
  std::erase_if(described.globals, [&](const DebugField& global) { return !fields.contains(global.name); });
  if (described.globals.empty() && described.aliases.empty()) return;
  add(std::move(described));
  described_ = std::move(chosen);
  colons_ = colons;
}

void NamedTypes::publish_loaded() {
  // Given all types, LLDB 14 takes some for others, and descends into a class that it takes for its own base.
  if (!tells_types_apart()) return;
  try {
    describe_loaded();
  } catch (const Error& error) {
    missing_ = {};
    missing_.add(OmittedPart::type, "", "loaded types", error);
  }
}

void NamedTypes::describe_loaded() {
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  const bool there = loaded_ && is_published();
  if (there && loaded_stop_ == stop) return;
  const std::shared_ptr<Session> session = sessions_->at_stop();
  ObjectReader* const objects = session->runtime().objects();
  if (objects == nullptr) return;
  const std::uint64_t mark = mark_of_loaded_types(objects->finder());
  loaded_stop_ = stop;
  if (there && mark == *loaded_) return;
  Omissions missing;
  const std::vector<NamedType> named = named_types(objects->finder(), missing);
  add(named_types_module(objects->layouts(), named, true, missing));
  missing_ = std::move(missing);
  loaded_ = mark;
  colons_ = true;
  for (const NamedType& type : named) described_.insert(fmt::format("{}", fmt::join(type.path, ".")));
}

// LLDB saves no core while it has a module without a place. Nothing of a program's lies in the last page.
void NamedTypes::add(DebugModule described) {
  const Address last_page = described.platform.wrap(~Address{0xfff});
  described.sections = {{.begin = last_page, .end = last_page + 16, .bytes = {}}};
  described.identity = new_module_identity();
  described.names_in_types = tells_types_apart();
  lldb::SBModule made;
  const char* const triple = target_.GetTriple();
  write_elf_module(described, [&](FileParts elf) {
    made = load_module(triple != nullptr ? triple : "", described.file_name, elf);
  });
  const KeptSelection selection(target_);
  make_room();
  publish_module(target_, made);
  module_ = std::move(made);
}

// LLDB drops all modules when search paths change, as Publisher::was_dropped() says.
bool NamedTypes::is_published() {
  return module_.IsValid() && target_.FindModule(module_.GetFileSpec()).IsValid();
}

// For the next module. In two at once LLDB would find each name twice, and take it for none: LLDB 21 and 22
// lose the types of compiled conditions with it, and complain of them once.
void NamedTypes::make_room() {
  if (!module_.IsValid()) return;
  withdraw();
  renew_conditions(target_);
}

void NamedTypes::withdraw() {
  if (!module_.IsValid()) return;
  withdraw_module(target_, module_);
  module_ = {};
  described_.clear();
  loaded_.reset();
  missing_ = {};
}

} // namespace clr::lldb_plugin
