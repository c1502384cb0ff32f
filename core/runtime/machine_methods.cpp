// The methods of state machines, by the types of the machines, and the machines that boxes have.
#include "core/runtime/async_names.h"

#include <fmt/format.h>

namespace clr {

std::shared_ptr<const Method> AsyncNames::method_of(const MachineShape& shape) {
  auto& kept = methods_[shape.method_table];
  if (kept) return kept;
  Runtime& runtime = *runtime_;
  Method method;
  try {
    const Target& target = *runtime.target();
    MethodNames& names = *runtime.names();
    const RuntimeType& type = names.types().type(shape.method_table);
    const MethodDescs descs(target);
    Address found = 0;
    // A method that the chain comes back to: looked at further and further on.
    Address mark = 0;
    std::size_t passed = 0, until_mark = 1;
    descs.for_each(names.types().tables().method_chunks(type.table), [&](const MethodDesc& candidate) {
      if (candidate.address == mark || methods_left_ == 0) return false;
      --methods_left_;
      if (++passed == until_mark) {
        mark = candidate.address;
        passed = 0;
        until_mark *= 2;
      }
      if (candidate.token() != shape.move_next || (found != 0 && candidate.is_unboxing_stub())) return true;
      found = candidate.address;
      return candidate.is_unboxing_stub();
    });
    if (found == 0)
      throw Error(ErrorKind::corrupt, methods_left_ == 0 ? "the types of state machines have too many methods"
                                                         : "the method of the state machine is not there");
    method = type.table.canonical != shape.method_table ? names.describe_in(found, shape.method_table)
                                                        : names.describe(found);
    names.add_user_method(method);
  } catch (const Error& error) {
    method = Method();
    method.degraded = error.what();
    method.name = method.full_name = fmt::format("<state machine of type {:#x}>", shape.method_table);
  }
  return kept = std::make_shared<const Method>(std::move(method));
}

const MachineShape* AsyncNames::machine_in(AsyncObjects& kinds, Address object) const {
  const BoxShape* const box = kinds.shapes().box(kinds.table_of(object));
  if (box == nullptr) return nullptr;
  Address table = box->machine_table;
  if (table == 0)
    if (const Address machine = kinds.target().read_pointer(object + box->machine))
      table = kinds.table_of(machine);
  return table != 0 ? &kinds.shapes().machine(table) : nullptr;
}

} // namespace clr
