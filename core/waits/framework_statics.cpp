#include "core/waits/framework_statics.h"

namespace clr {

std::optional<Address> static_address(ObjectReader& objects, CoreLibrary& library, std::string_view type,
                                      std::string_view field) {
  const Address table = library.find(type);
  if (table == 0) return std::nullopt;
  for (const FieldLayout& known : objects.layouts().of(table).fields)
    if (known.is_static && !known.thread_static && known.name == field) return known.address;
  return std::nullopt;
}

Address static_reference(ObjectReader& objects, CoreLibrary& library, std::string_view type,
                         std::string_view field) {
  const auto address = static_address(objects, library, type, field);
  return address ? objects.finder().target().read_pointer(*address) : 0;
}

} // namespace clr
