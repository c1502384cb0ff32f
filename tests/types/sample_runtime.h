// A runtime with a method of every kind, and the expected name of each.
#pragma once

#include "tests/types/runtime_types.h"

namespace clr::test {

struct SampleMethod {
  Address address = 0;
  std::string full_name, sos_name;
  MethodKind kind = MethodKind::il;
};

struct SampleRuntime {
  explicit SampleRuntime(Platform platform, unsigned seed = 0); // as RuntimeTypes

  RuntimeTypes runtime;
  Address core_lib = 0, app = 0;
  Address list_of_int = 0;
  Address tiered = 0, switched = 0, versioned = 0; // eligible for tiering, without versions
  std::vector<SampleMethod> methods;
};

} // namespace clr::test
