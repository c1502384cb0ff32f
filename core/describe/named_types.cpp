#include "core/describe/named_types.h"

#include <fmt/format.h>

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

} // namespace

DebugModule named_types_module(TypeLayouts& layouts, std::span<const NamedType> named, bool colons,
                               Omissions& omissions) {
  DebugModule module;
  module.file_name = colons ? "types of .NET" : "statics of .NET";
  module.platform = layouts.finder().target().platform();
  DebugTypes types(layouts, module.types, omissions, [](Address) { return false; });
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
      if (path.size() > 1)
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

} // namespace clr
