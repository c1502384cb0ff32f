#include "core/types/code_claims.h"

#include "core/isa/architecture.h"
#include "core/types/module.h"

namespace clr {

const MethodDescs& CodeClaims::descs() {
  if (!descs_) descs_.emplace(*target_);
  return *descs_;
}

void CodeClaims::check(Address method_desc, Address start, Address code_header, BodyFound found) {
  std::optional<MethodDesc> method;
  try {
    method = descs().read(method_desc);
  } catch (const Error&) {
    // What cannot be read denies nothing; naming the method tells of it.
  }
  if (method) check(*method, start, code_header, found);
}

void CodeClaims::check(const MethodDesc& method, Address start, Address code_header, BodyFound found) {
  std::string_view why;
  try {
    why = why_disowned(method, start, found);
  } catch (const Error&) {
    // As above.
  }
  if (!why.empty()) throw_corrupt(code_header, std::string(why));
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

// Empty: nothing speaks against it.
std::string_view CodeClaims::why_disowned(const MethodDesc& method, Address start, BodyFound found) {
  constexpr std::string_view other_code = "a code header of a method that keeps other code",
                             no_code = "a code header of a method that has no code yet";
  const auto first = first_body(method);
  if (!first || *first == start) return {};
  const std::string_view why = *first == 0 ? no_code : other_code;
  if (*first == 0) {
    if (another_keeps(method, start)) return why;
    if (found == BodyFound::listed) return {};
  }
  if (!versions_) versions_.emplace(*target_);
  if (!versions_->known()) return {};
  bool owned = false;
  versions_->for_each(method.code_data, [&](const NativeCodeVersion& version) {
    owned = version.code == 0 || without_mark(version.code) == start;
    return !owned;
  });
  return owned || may_be_edited(method) ? std::string_view() : why;
}

bool CodeClaims::may_be_edited(const MethodDesc& method) {
  const Address module =
      target_->read_pointer(target_->field_address(method.method_table, "MethodTable", "Module"));
  return read_module(*target_, module).edit_and_continue();
}

} // namespace clr
