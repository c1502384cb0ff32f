// Where a thread keeps its own static fields ([ThreadStatic]).
// Source: dotnet/runtime docs/design/datacontracts/Thread.md (GetThreadLocalStaticBase);
// src/coreclr/vm/threadstatics.h.
#pragma once

#include "core/objects/type_layout.h"

#include <optional>

namespace clr {

// The address of the thread static `field` of `table` for the runtime's Thread at `thread`. Nothing while
// that thread has not used the type's thread statics. As with other statics, a value type among the
// references is a box. Throws Error{memory_missing, corrupt} and Error{unsupported_contract}. Cost: 6 reads.
std::optional<Address> thread_static_address(const Target& target, const MethodTable& table,
                                             const FieldLayout& field, Address thread);

} // namespace clr
