#include "core/types/method.h"

#include "core/types/user_method.h"

#include <fmt/format.h>

namespace clr {

std::string_view to_string(MethodKind kind) {
  switch (kind) {
  case MethodKind::il:
    return "il";
  case MethodKind::fcall:
    return "fcall";
  case MethodKind::pinvoke:
    return "pinvoke";
  case MethodKind::eeimpl:
    return "delegate";
  case MethodKind::array:
    return "array";
  case MethodKind::instantiated:
    return "instantiated";
  case MethodKind::com_interop:
    return "com_interop";
  case MethodKind::dynamic:
    return "dynamic";
  case MethodKind::il_stub:
    return "il_stub";
  case MethodKind::async_thunk:
    return "async_thunk";
  case MethodKind::unknown:
    return "unknown";
  }
  return "unknown";
}

std::string_view to_string(NameSource source) {
  switch (source) {
  case NameSource::memory:
    return "memory";
  case NameSource::assembly:
    return "assembly";
  case NameSource::symbols:
    return "symbols";
  case NameSource::token:
    return "token";
  }
  return "token";
}

std::optional<std::string_view> to_string(Tier tier) {
  switch (tier) {
  case Tier::unknown:
    return std::nullopt;
  case Tier::tier0:
    return "tier0";
  case Tier::tier1:
    return "tier1";
  case Tier::osr:
    return "osr";
  case Tier::optimized:
    return "optimized";
  case Tier::minopts:
    return "minopts";
  case Tier::instrumented:
    return "instrumented";
  case Tier::instrumented_optimized:
    return "instrumented_optimized";
  case Tier::r2r:
    return "r2r";
  }
  return std::nullopt;
}

Method UnspelledMethod::spell() const& {
  return UnspelledMethod(*this).spell();
}

Method UnspelledMethod::spell() && {
  Method method{{std::move(*this)}, {}, {}};
  if (method.qualified) {
    method.name = format_short_name(*method.qualified);
    method.full_name = format_full_name(*method.qualified);
  } else if (!method.module.empty()) {
    method.name = method.token != 0 || method.method_desc == 0
                      ? format_token_name(method.module.str(), method.token)
                      : fmt::format("{}!MethodDesc {:#x}", method.module, method.method_desc);
    method.full_name = method.name;
  }
  return method;
}

std::string Method::shown_name() const {
  if (user) return user->text();
  const std::string& text = full_name.empty() ? name : full_name;
  if (kind == MethodKind::async_thunk) return text + " [async thunk]";
  return runtime_async ? text + " [async]" : text;
}

std::string Method::sos_name() const {
  return qualified ? format_sos_name(*qualified) : full_name;
}

std::string Method::event_name() const {
  return qualified ? format_event_name(*qualified) : full_name;
}

std::string Method::perf_map_name() const {
  return qualified ? format_perf_map_name(*qualified) : full_name;
}

} // namespace clr
