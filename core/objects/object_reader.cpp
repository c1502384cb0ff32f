#include "core/objects/object_reader.h"

#include "core/objects/fsharp_union.h"
#include "core/objects/object_text.h"

namespace clr {

Address ObjectReader::method_table_of(Address object) const {
  object = target_->platform().wrap(object);
  if (object == 0 || object % target_->pointer_size() != 0) throw_corrupt(object, "no object can lie");
  // While the garbage collector works, it marks objects in the low bits.
  const Address mask =
      target_->find_global("ObjectToMethodTableUnmask").value_or(target_->pointer_size() - 1);
  const Address table = target_->read_pointer(target_->field_address(object, "Object", "m_pMethTab")) & ~mask;
  if (table == 0) throw_corrupt(object, "an object without a type");
  return table;
}

const UnionType* ObjectReader::union_of(const TypeLayout& layout) {
  const auto [slot, is_new] = unions_.try_emplace(layout.table.address);
  if (is_new) {
    std::shared_ptr<const UnionType> made;
    try {
      if (auto type = read_union_type(*this, layout))
        made = std::make_shared<const UnionType>(std::move(*type));
    } catch (const Error&) {
      // It is shown by its fields.
    }
    return (unions_[layout.table.address] = std::move(made)).get();
  }
  return slot->second.get();
}

std::string ObjectReader::describe_object(Address object, const TextLimits& limits) {
  ObjectText text(*this, limits);
  text.object(object);
  return text.take();
}

std::string ObjectReader::describe_value(const TypeUse& type, Address address, const TextLimits& limits) {
  ObjectText text(*this, limits);
  text.value(type, address);
  return text.take();
}

} // namespace clr
