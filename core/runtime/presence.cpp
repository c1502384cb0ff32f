#include "core/runtime/presence.h"

namespace clr {

std::string absence_text(const Runtime& runtime) {
  const auto* absence = runtime.absence();
  if (absence == nullptr) return {};
  return std::visit([](const auto& reason) { return reason.text; }, *absence);
}

void require_runtime(const Runtime& runtime) {
  const auto* absence = runtime.absence();
  if (absence == nullptr) return;
  const auto* fault = std::get_if<FaultAnswer>(absence);
  throw Error(fault != nullptr ? fault->kind : ErrorKind::invalid_argument, absence_text(runtime));
}

} // namespace clr
