#include "core/types/code_claims.h"

#include "core/isa/architecture.h"

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

bool CodeClaims::disowns(const MethodDesc& method, Address start) {
  const auto slot = descs().native_code_slot(method);
  if (!slot) return false;
  // 32-bit ARM marks Thumb code in bit 0 of every code pointer.
  const Address mask = ~architecture_of(target_->platform().cpu).code_pointer_mark;
  const Address first = target_->read_pointer(*slot) & mask;
  if (first == 0 || first == start) return false;
  if (!versions_) versions_.emplace(*target_);
  if (!versions_->known()) return false;
  bool owned = false;
  versions_->for_each(method.code_data, [&](const NativeCodeVersion& version) {
    owned = version.code == 0 || (version.code & mask) == start;
    return !owned;
  });
  return !owned;
}

} // namespace clr
