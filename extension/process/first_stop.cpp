#include "extension/process/first_stop.h"

#include "core/memory/error.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <string_view>

namespace clr::lldb_plugin {

namespace {
bool is_of_framework(std::string_view module) {
  return module.starts_with("System.") || module.starts_with("Microsoft.") || module == "mscorlib.dll" ||
         module == "netstandard.dll";
}

// The stub of a P/Invoke belongs to the assembly that declares it, and is optimised in Debug builds, too.
bool is_made_at_run_time(MethodKind kind) {
  return kind == MethodKind::il_stub || kind == MethodKind::dynamic;
}

bool is_optimised(Tier tier) {
  return tier == Tier::tier1 || tier == Tier::optimized || tier == Tier::osr ||
         tier == Tier::instrumented_optimized || tier == Tier::r2r;
}

bool is_users(const Method& method) {
  const std::string_view module = method.module.str();
  return method.runtime_module != 0 && !module.empty() && !is_of_framework(module) &&
         !is_made_at_run_time(method.kind);
}
} // namespace

FirstStop look_at_first_stop(Session& session, lldb::SBThread& thread) {
  Runtime& runtime = session.runtime();
  if (runtime.absence() != nullptr || runtime.lines() == nullptr) return {};
  for (std::uint32_t i = 0; i < max_first_frames; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    const CodeLookup found = runtime.code()->find(i == 0 ? frame.GetPC() : frame.GetPC() - 1);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) continue;
    const MethodAnswer answer = runtime.describe(*block);
    if (!is_users(answer.method)) continue;
    const std::string_view module = answer.method.module.str();
    FirstStop stop{.seen = true, .text = {}};
    if (runtime.lines()->pdb_of(answer.method.runtime_module) == nullptr)
      stop.text = fmt::format(
          "{} has no PDB here, so no lines and no names of variables: put it beside the assembly, or "
          "say where it is with `clr settings --symbols FOLDER`",
          module);
    else if (is_optimised(answer.code.tier))
      stop.text = fmt::format(
          "{} runs optimised code, in which variables may have no place and lines may be left out: a "
          "Debug build has all of them",
          module);
    return stop;
  }
  return {};
}

bool stands_in_users_code(Session& session, lldb::SBFrame frame) {
  Runtime& runtime = session.runtime();
  if (runtime.absence() != nullptr) return false;
  try {
    const CodeLookup found = runtime.code()->find(frame.GetPC());
    const auto* const block = std::get_if<CodeBlock>(&found);
    return block != nullptr && is_users(runtime.describe(*block).method);
  } catch (const Error&) {
    return false;
  }
}

} // namespace clr::lldb_plugin
