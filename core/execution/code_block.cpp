#include "core/execution/code_block.h"

namespace clr {

std::string_view to_string(CodeKind kind) {
  switch (kind) {
  case CodeKind::jitted:
    return "jitted";
  case CodeKind::ready_to_run:
    return "r2r";
  case CodeKind::interpreted:
    return "interpreted";
  }
  return "jitted";
}

std::string_view to_string(MissReason reason) {
  switch (reason) {
  case MissReason::no_runtime:
    return "no_runtime";
  case MissReason::native_aot:
    return "nativeaot";
  case MissReason::not_started:
    return "not_started";
  case MissReason::outside:
    return "outside";
  case MissReason::native:
    return "native";
  case MissReason::stub:
    return "stub";
  case MissReason::precode:
    return "precode";
  case MissReason::thunk:
    return "thunk";
  case MissReason::helper:
    return "helper";
  case MissReason::gap:
    return "gap";
  case MissReason::no_method:
    return "no_method";
  case MissReason::being_deleted:
    return "being_deleted";
  }
  return "outside";
}

std::string_view to_string(StubKind kind) {
  switch (kind) {
  case StubKind::unknown:
    return "stub of unknown kind";
  case StubKind::jump_stub:
    return "jump stub";
  case StubKind::dynamic_helper:
    return "dynamic helper";
  case StubKind::stub_precode:
    return "precode";
  case StubKind::fixup_precode:
    return "fixup precode";
  case StubKind::vsd_dispatch:
    return "interface dispatch stub";
  case StubKind::vsd_resolve:
    return "interface resolve stub";
  case StubKind::vsd_lookup:
    return "interface lookup stub";
  case StubKind::vsd_vtable:
    return "vtable call stub";
  case StubKind::call_counting:
    return "call counting stub";
  case StubKind::method_call_thunk:
    return "delay-load method call thunk";
  case StubKind::wrapper:
    return "wrapper stub";
  case StubKind::shuffle_thunk:
    return "delegate shuffle thunk";
  case StubKind::prestub:
    return "prestub";
  }
  return "stub of unknown kind";
}

} // namespace clr
