#include "core/types/code_claims.h"

#include "core/isa/architecture.h"
#include "core/types/module.h"

namespace clr {

const MethodDescs& CodeClaims::descs() {
  if (!descs_) descs_.emplace(*target_);
  return *descs_;
}

void CodeClaims::check(Address method_desc, Address start, Address code_header) {
  std::optional<MethodDesc> method;
  try {
    method = descs().read(method_desc);
  } catch (const Error&) {
    // What cannot be read denies nothing; naming the method tells of it.
  }
  if (method) check(*method, start, code_header);
}

void CodeClaims::check(const MethodDesc& method, Address start, Address code_header) {
  bool other = false;
  try {
    other = disowns(method, start);
  } catch (const Error&) {
    // As above.
  }
  if (other) throw_corrupt(code_header, "a code header of a method that keeps other code");
}

// 32-bit ARM marks Thumb code in bit 0 of every code pointer.
Address CodeClaims::without_mark(Address code) const {
  return code & ~architecture_of(target_->platform().cpu).code_pointer_mark;
}

// The code of the method's first version, 0 before it is compiled; nothing where it keeps none.
std::optional<Address> CodeClaims::first_body(const MethodDesc& method) {
  const auto slot = descs().native_code_slot(method);
  if (!slot) return std::nullopt;
  return without_mark(target_->read_pointer(*slot));
}

// Only then is the body not that of a method that is just being compiled, whose address is not kept yet.
bool CodeClaims::another_keeps(const MethodDesc& method, Address start) {
  bool found = false;
  std::size_t seen = 0;
  descs().for_each(method.chunk, [&](const MethodDesc& other) {
    found = other.address != method.address && first_body(other) == start;
    return !found && ++seen < max_methods_of_body;
  });
  return found;
}

bool CodeClaims::disowns(const MethodDesc& method, Address start) {
  const auto first = first_body(method);
  if (!first || *first == start) return false;
  if (*first == 0) return another_keeps(method, start);
  if (!versions_) versions_.emplace(*target_);
  if (!versions_->known()) return false;
  bool owned = false;
  versions_->for_each(method.code_data, [&](const NativeCodeVersion& version) {
    owned = version.code == 0 || without_mark(version.code) == start;
    return !owned;
  });
  return !owned && !may_be_edited(method);
}

bool CodeClaims::may_be_edited(const MethodDesc& method) {
  const Address module =
      target_->read_pointer(target_->field_address(method.method_table, "MethodTable", "Module"));
  return read_module(*target_, module).edit_and_continue();
}

} // namespace clr
