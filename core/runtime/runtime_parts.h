// What a Runtime holds once a runtime was found. For the sources of this room only.
#pragma once

#include "core/runtime/runtime.h"

namespace clr {

struct Runtime::Parts {
  Parts(MemoryReader& memory, ContractDescriptor descriptor, Platform platform, AssemblyFiles* files)
      : target(memory, std::move(descriptor), platform), code(target), names(target, code, files) {}

  Target target;
  ExecutionManager code;
  MethodNames names;
};

} // namespace clr
