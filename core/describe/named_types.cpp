#include "core/describe/named_types.h"

#include "core/objects/loaded_types.h"
#include "core/objects/spelled_types.h"

#include <fmt/format.h>

#include <map>
#include <ranges>

namespace clr {

namespace {

// The value of a static field lies in a box, which stays where it is until the process runs.
bool open_box(const Target& target, DebugField& field) {
  try {
    const Address box = target.read_pointer(*field.static_address);
    field.static_address = box + target.pointer_size();
    field.static_boxed = false;
    return box != 0;
  } catch (const Error&) {
    return false;
  }
}

Omission of_several(std::string name) {
  return {.part = OmittedPart::type,
          .cause = OmissionCause::ambiguous,
          .of = std::move(name),
          .reading = "names of loaded types",
          .text = "several modules have a type of this name"};
}

} // namespace

std::vector<std::string> parts_of_name(std::string_view name) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(name, '.')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

DebugModule named_types_module(TypeLayouts& layouts, std::span<const NamedType> named, bool colons,
                               Omissions& omissions) {
  DebugModule module;
  module.file_name = colons ? "types of .NET" : "statics of .NET";
  module.platform = layouts.finder().target().platform();
  DebugTypes types(
      layouts, module.types, omissions, [](Address) { return false; }, DebugTypes::of_all_types);
  std::vector<DebugTypeIndex> records;
  for (const NamedType& type : named) {
    DebugTypeIndex index = types.of(*layouts.finder().of_handle(type.method_table));
    if (index != no_debug_type && module.types[index].kind == DebugType::Kind::reference)
      index = module.types[index].element;
    records.push_back(index);
  }
  types.complete();

  for (std::size_t i = 0; i < named.size(); ++i) {
    if (records[i] == no_debug_type) continue;
    const std::vector<std::string>& path = named[i].path;
    if (colons) {
      module.aliases.push_back(
          {.scope = {path.begin(), path.end() - 1}, .name = path.back(), .type = records[i]});
      continue;
    }
    for (DebugField field : module.types[records[i]].fields) {
      if (!field.static_address) continue;
      field.name = fmt::format("{}.{}", fmt::join(path, "."), field.name);
      if (!field.static_boxed || open_box(layouts.finder().target(), field)) module.globals.push_back(field);
    }
  }
  return module;
}

std::vector<NamedType> named_types(TypeFinder& finder, Omissions& omissions) {
  const LoadedTypes loaded = loaded_types(
      finder, [&](const Error& fault) { omissions.add(OmittedPart::type, "", "loaded types", fault); });
  if (loaded.more)
    omissions.add({.part = OmittedPart::type,
                   .cause = OmissionCause::limit,
                   .of = {},
                   .reading = "loaded types",
                   .text = fmt::format("more than {} are loaded", max_loaded_types)});
  std::map<std::string, Address> by_name;
  for (const LoadedType& type : loaded.types) {
    const auto [at, is_new] = by_name.emplace(spelled_type(type.text), type.method_table);
    if (is_new) continue;
    if (at->second != 0) omissions.add(of_several(at->first));
    at->second = 0;
  }
  std::vector<NamedType> named;
  for (const auto& [name, table] : by_name)
    if (table != 0) named.push_back({.path = parts_of_name(name), .method_table = table});
  return named;
}

} // namespace clr
