#include "core/execution/stub_kind.h"

#include <array>

namespace clr {
namespace {

using enum StubKind;
// The index is the stored value.
constexpr std::array kinds_to_10{unknown,       jump_stub,    unknown,     dynamic_helper, stub_precode,
                                 fixup_precode, vsd_dispatch, vsd_resolve, vsd_lookup,     vsd_vtable};
constexpr std::array kinds_after_10{unknown,       jump_stub,     dynamic_helper, stub_precode,
                                    fixup_precode, vsd_dispatch,  vsd_resolve,    vsd_lookup,
                                    vsd_vtable,    call_counting, wrapper,        shuffle_thunk};

} // namespace

StubKind stub_kind_of(const Target& target, std::uint64_t stored) {
  if (target.has_type("CodeRangeMapRangeList"))
    return stored < kinds_after_10.size() ? kinds_after_10[stored] : unknown;
  return stored < kinds_to_10.size() ? kinds_to_10[stored] : unknown;
}

} // namespace clr
