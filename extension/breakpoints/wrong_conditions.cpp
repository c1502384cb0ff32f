#include "extension/breakpoints/wrong_conditions.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "core/types/name_format.h"
#include "extension/lldb/breakpoint_conditions.h"
#include "extension/lldb/csharp_expression.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/lldb_error.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace clr::lldb_plugin {

namespace {
constexpr const char *never = "false", *always = "true";

// An expression of LLDB's that stands for one of C#, which the user sees, too.
constexpr std::string_view begin_of_comment = "/* ", end_of_comment = " */ ";

std::string with_comment(const std::string& condition, const std::string& meant) {
  return fmt::format("{}{}{}{}", begin_of_comment, condition, end_of_comment, meant);
}

// The user's, of a breakpoint or of one of its places, which may have one of its own.
template<typename Conditional>
std::string condition_of(Conditional where) {
  const char* const text = where.GetCondition();
  std::string condition = respelled(text == nullptr ? "" : text, 0);
  const std::size_t end =
      condition.starts_with(begin_of_comment) ? condition.find(end_of_comment) : std::string::npos;
  return end == std::string::npos ? condition
                                  : condition.substr(begin_of_comment.size(), end - begin_of_comment.size());
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
  const std::string common = condition_of(breakpoint);
  const std::string condition = knows(id, place) ? common : condition_of(location);
  if (condition.empty()) return false;
  try {
    const std::shared_ptr<Session> session = sessions.at_stop();
    const auto code = managed_code_at(*session, thread.GetFrameAtIndex(0).GetPC());
    if (!code) return false;
    lldb::SBValue value = evaluate(thread, condition);
    if (value.IsValid() && value.GetError().Success()) return value.GetValueAsUnsigned(1) == 0;
    const std::optional<std::string> instance = instance_of(*session, *code);
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    if (const auto meant = csharp_at(frame, condition, describe_)) {
      // The same code may be of another instance next time, whose variables are of other types. A client that
      // gives the breakpoint another condition tells nobody: the place has none of its own.
      if (!instance && condition == common && condition.find("*/") == std::string::npos) {
        set(breakpoint, location, "");
        breakpoint.SetCondition(with_comment(condition, *meant).c_str());
      }
      lldb::SBValue answer = evaluate(thread, *meant);
      if (answer.GetError().Success()) return answer.GetValueAsUnsigned(1) == 0;
      notice(target_.GetDebugger(), fmt::format("the condition `{}` of breakpoint {} cannot be evaluated: {}",
                                                condition, id, reason_of(answer.GetError())));
      return false;
    }
    // The user's own condition of a place is not replaced.
    if (condition != common) return false;
    const bool foreseen = knows(id, place);
    set(breakpoint, location, instance ? never : "");
    if (!instance && !foreseen) return false; // LLDB has said why
    if (!instance) {
      notice(target_.GetDebugger(), fmt::format("the condition `{}` of breakpoint {} has no meaning here: {}",
                                                condition, id, reason_of(value.GetError())));
      return false;
    }
    notice(target_.GetDebugger(),
           fmt::format("breakpoint {} does not stop in {}: its condition `{}` has no meaning there: {}", id,
                       printable(*instance), condition, reason_of(value.GetError())));
    return true;
  } catch (const Error&) {
    return false; // what cannot be read is shown to the user
  }
}

bool WrongConditions::knows(lldb::break_id_t breakpoint, lldb::break_id_t location) const {
  return std::ranges::any_of(places_, [&](const Place& place) {
    return place.breakpoint == breakpoint && place.location == location;
  });
}

void WrongConditions::set(lldb::SBBreakpoint& breakpoint, lldb::SBBreakpointLocation& location,
                          const std::string& own) {
  location.SetCondition(own.c_str());
  if (!knows(breakpoint.GetID(), location.GetID()))
    places_.push_back({breakpoint.GetID(), location.GetID(), condition_of(breakpoint)});
}

void WrongConditions::foresee() {
  for (std::uint32_t i = 0; i < target_.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(i);
    const std::string condition = condition_of(breakpoint);
    if (condition.empty() || !is_surely_csharp(condition) || is_hidden(breakpoint)) continue;
    const auto locations = std::min(max_locations, static_cast<std::uint32_t>(breakpoint.GetNumLocations()));
    for (std::uint32_t k = 0; k < locations; ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(k);
      lldb::SBModule module = location.GetAddress().GetModule();
      const bool own = condition_of(location) != condition;
      if (own || knows(breakpoint.GetID(), location.GetID()) || !module.IsValid() || !is_published(module))
        continue;
      set(breakpoint, location, always);
    }
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
