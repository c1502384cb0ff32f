// The parts of a Runtime, made once a runtime was found. Only for the sources of this room.
#pragma once

#include "core/heap/object_starts.h"
#include "core/objects/object_reader.h"
#include "core/runtime/runtime.h"
#include "core/runtime/source_lines.h"
#include "core/types/code_claims.h"

namespace clr {

struct Runtime::Parts {
  Parts(MemoryReader& memory, ContractDescriptor descriptor, Platform platform, AssemblyFiles* files)
      : target(memory, std::move(descriptor), platform), code(target), names(target, code, files),
        claims(target), lines(target, code), objects(target, names) {}

  Target target;
  ExecutionManager code;
  MethodNames names;
  CodeClaims claims;
  SourceLines lines;
  ObjectReader objects;
  std::unique_ptr<ObjectStarts> heap; // null: not looked for yet, or not known whole
  bool heap_looked_for = false;
};

} // namespace clr
