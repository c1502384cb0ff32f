// The part of libclr.so in place of a debugger: it reads core files only.
#include "capi/inspection.h"
#include "core/memory/error.h"

namespace clr::capi {

std::shared_ptr<Inspection> open_process(std::uint64_t, std::uint32_t, std::uint32_t) {
  throw Error(ErrorKind::unsupported_contract,
              "libclr.so reads core files only; processes of LLDB are read by the plugin, liblldb-clr.so");
}

bool debugger_known(std::uint64_t) {
  return false;
}

} // namespace clr::capi
