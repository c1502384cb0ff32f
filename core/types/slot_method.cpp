#include "core/types/slot_method.h"

#include "core/types/method_desc.h"
#include "core/types/method_table.h"

namespace clr {

Address method_in_slot(const Target& target, Address method_table, std::uint32_t slot) {
  const MethodTables tables(target);
  const MethodDescs methods(target);
  Address found = 0;
  for (unsigned depth = 0; method_table != 0 && found == 0 && depth < max_slot_base_types; ++depth) {
    const MethodTable table = tables.read(method_table);
    methods.for_each(tables.method_chunks(table), [&](const MethodDesc& method) {
      if (method.slot == slot) found = method.address;
      return found == 0;
    });
    method_table = table.parent;
  }
  return found;
}

} // namespace clr
