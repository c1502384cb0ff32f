#include "core/types/type_handle.h"

#include <fmt/format.h>

namespace clr {

TypeDesc read_type_desc(const Target& target, Address type_handle) {
  TypeDesc desc;
  desc.address = target.platform().wrap(type_handle & ~Address{2});
  if (desc.address == 0 || desc.address % target.pointer_size() != 0)
    throw_corrupt(desc.address, "no TypeDesc can lie");
  desc.element_type = static_cast<std::uint8_t>(
      target.read_u32(target.field_address(desc.address, "TypeDesc", "TypeAndFlags")));
  switch (desc.element_type) {
  case element_type::ptr:
  case element_type::byref:
  case element_type::value_type:
    desc.argument = target.read_pointer(target.field_address(desc.address, "ParamTypeDesc", "TypeArg"));
    return desc;
  case element_type::var:
  case element_type::mvar:
    desc.module = target.read_pointer(target.field_address(desc.address, "TypeVarTypeDesc", "Module"));
    desc.token = target.read_u32(target.field_address(desc.address, "TypeVarTypeDesc", "Token"));
    return desc;
  case element_type::fnptr: {
    const auto count = target.read_u32(target.field_address(desc.address, "FnPtrTypeDesc", "NumArgs"));
    if (count > max_fnptr_arguments)
      throw_corrupt(desc.address, fmt::format("function pointer with {} arguments", count));
    desc.call_conv = static_cast<std::uint8_t>(
        target.read_u32(target.field_address(desc.address, "FnPtrTypeDesc", "CallConv")));
    // The types lie in the object itself, whatever type the descriptor gives to the field.
    const Address types = target.field_address(desc.address, "FnPtrTypeDesc", "RetAndArgTypes");
    for (std::uint32_t i = 0; i <= count; ++i)
      desc.ret_and_args.push_back(target.read_pointer(types + i * target.pointer_size()));
    return desc;
  }
  default:
    throw_corrupt(desc.address, fmt::format("TypeDesc of unknown kind {:#x}", desc.element_type));
  }
}

} // namespace clr
