#include "extension/breakpoints/wrong_conditions.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "core/types/name_format.h"
#include "extension/lldb/breakpoint_conditions.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/lldb_error.h"
#include "extension/lldb/notice.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace clr::lldb_plugin {

namespace {
constexpr const char* never = "false";

// Of a breakpoint, or of one of its places, which may have one of its own.
template<typename Conditional>
std::string condition_of(Conditional where) {
  const char* const text = where.GetCondition();
  return respelled(text == nullptr ? "" : text, 0);
}

// The managed code that `pc` is in.
std::optional<CodeBlock> managed_code_at(Session& session, Address pc) {
  if (session.runtime().absence() != nullptr) return std::nullopt;
  const CodeLookup found = session.runtime().code()->find(pc);
  const auto* const block = std::get_if<CodeBlock>(&found);
  return block == nullptr ? std::nullopt : std::optional(*block);
}

// The name of the instantiation of a generic method, or of a method of a generic type.
std::optional<std::string> instance_of(Session& session, const CodeBlock& block) {
  const Method method = session.runtime().describe(block).method;
  const QualifiedMethodName* const name = method.qualified.get();
  const bool instance =
      name != nullptr &&
      (!name->method_arguments.empty() || (name->declaring_type && !name->declaring_type->arguments.empty()));
  return instance ? std::optional(method.full_name) : std::nullopt;
}

// Without the place in the expression.
std::string reason_of(const lldb::SBError& error) {
  const std::string text = error_line(error);
  const std::size_t end = text.starts_with("<user expression") ? text.find(": ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

lldb::SBValue evaluate(lldb::SBThread& thread, const std::string& condition) {
  lldb::SBExpressionOptions options;
  options.SetIgnoreBreakpoints(true);
  options.SetUnwindOnError(true);
  options.SetSuppressPersistentResult(true);
  return thread.GetFrameAtIndex(0).EvaluateExpression(condition.c_str(), options);
}
} // namespace

bool WrongConditions::pass(StopSession& sessions, lldb::SBThread& thread) {
  if (thread.GetStopReason() != lldb::eStopReasonBreakpoint) return false;
  bool any = false;
  for (std::uint32_t i = 0; i + 1 < thread.GetStopReasonDataCount(); i += 2) {
    const auto id = static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(i));
    lldb::SBBreakpoint breakpoint = target_.FindBreakpointByID(id);
    if (breakpoint.IsValid() && is_hidden(breakpoint)) continue;
    if (!breakpoint.IsValid() ||
        !passes(sessions, thread, id, static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(i + 1))))
      return false;
    any = true;
  }
  return any;
}

bool WrongConditions::passes(StopSession& sessions, lldb::SBThread& thread, lldb::break_id_t id,
                             lldb::break_id_t place) {
  lldb::SBBreakpoint breakpoint = target_.FindBreakpointByID(id);
  lldb::SBBreakpointLocation location = breakpoint.FindLocationByID(place);
  if (!location.IsValid()) return false;
  const std::string condition = condition_of(location);
  if (condition.empty()) return false;
  try {
    const std::shared_ptr<Session> session = sessions.at_stop();
    const auto code = managed_code_at(*session, thread.GetFrameAtIndex(0).GetPC());
    if (!code) return false;
    lldb::SBValue value = evaluate(thread, condition);
    if (value.IsValid() && value.GetError().Success()) return value.GetValueAsUnsigned(1) == 0;
    const std::optional<std::string> instance = instance_of(*session, *code);
    // The user's own condition of a place is not replaced.
    if (!instance || condition != condition_of(breakpoint)) return false;
    location.SetCondition(never);
    places_.push_back({id, place, condition});
    notice(target_.GetDebugger(),
           fmt::format("breakpoint {} does not stop in {}: its condition `{}` has no meaning there: {}", id,
                       printable(*instance), condition, reason_of(value.GetError())));
    return true;
  } catch (const Error&) {
    return false; // what cannot be read is shown to the user
  }
}

void WrongConditions::forget_changed() {
  std::erase_if(places_, [&](const Place& place) {
    lldb::SBBreakpoint breakpoint = target_.FindBreakpointByID(place.breakpoint);
    if (breakpoint.IsValid() && condition_of(breakpoint) == place.condition) return false;
    lldb::SBBreakpointLocation location =
        breakpoint.IsValid() ? breakpoint.FindLocationByID(place.location) : lldb::SBBreakpointLocation();
    if (location.IsValid()) location.SetCondition("");
    return true;
  });
}

} // namespace clr::lldb_plugin
