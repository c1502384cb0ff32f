#include "core/stack/gc_place.h"

namespace clr {

std::optional<Address> gc_place(ManagedUnwinder& unwinder, const StackFrame& frame, const GcHeader& header,
                                GcBase base, std::int64_t offset) {
  std::optional<Address> from;
  switch (base) {
  case GcBase::sp:
    from = frame.registers.sp();
    break;
  case GcBase::frame:
    from = header.frame_register ? frame.registers.find(*header.frame_register) : std::nullopt;
    break;
  case GcBase::caller_sp: {
    const RegisterOffset& cfa = unwinder.layout(*frame.code, frame.leaf).cfa;
    from = frame.registers.find(cfa.reg);
    if (from) *from += static_cast<Address>(cfa.offset);
    break;
  }
  }
  if (!from) return std::nullopt;
  return unwinder.target().platform().wrap(*from + static_cast<Address>(offset));
}

} // namespace clr
