#include "core/publish/body_description.h"

#include "core/publish/code_names.h"

#include <algorithm>
#include <limits>

namespace clr {
namespace {

// The functions whose code lies in `part`, in the order of their code.
void add_unwinding(DebugCode& part, const FoundBody& body, UnwindRows& rows, bool exact, std::string& fault) {
  const MethodRegions& regions = body.regions;
  const UnwindedBody where{
      .start = part.start, .size = static_cast<std::uint32_t>(part.size), .same_method = [&](Address target) {
        return target - regions.hot_start < regions.hot_size ||
               target - regions.cold_start < regions.cold_size;
      }};
  const Address base = body.block.section.begin;
  for (const ExecutionManager::Function& function : body.functions) {
    if (function.begin - part.start >= part.size) continue;
    try {
      DebugUnwindRange range = rows.of_function(where, function.entry, base, exact);
      if (!part.unwind.empty()) {
        DebugUnwindRange& before = part.unwind.back();
        if (range.begin <= before.begin) throw_corrupt(function.entry, "runtime functions out of order");
        before.end = std::min(before.end, range.begin);
        while (before.rows.size() > 1 && before.rows.back().offset >= before.end) before.rows.pop_back();
      }
      part.unwind.push_back(std::move(range));
    } catch (const std::exception& error) {
      if (fault.empty()) fault = error.what();
    }
  }
}

} // namespace

FoundBody find_body(Runtime& runtime, const CodeBlock& block, Method method) {
  FoundBody body{.block = block, .method = std::move(method)};
  body.regions = runtime.code()->regions(block);
  body.functions = runtime.code()->functions(block);
  return body;
}

std::vector<DebugCode> describe_body(const FoundBody& body, UnwindRows& rows, bool exact,
                                     std::string& fault) {
  std::vector<DebugCode> parts;
  // What LLDB amends by its own reading of the code goes wrong where several functions follow each other.
  const bool precise = exact || body.functions.size() > 1;
  const auto add = [&](Address start, std::uint64_t size, bool function) {
    if (size == 0 || size > std::numeric_limits<std::uint32_t>::max()) return;
    DebugCode& part = parts.emplace_back();
    part.start = start;
    part.size = size;
    part.function = function;
    set_names(part, body.method);
    add_unwinding(part, body, rows, precise, fault);
  };
  add(body.regions.hot_start, body.regions.hot_size, true);
  add(body.regions.cold_start, body.regions.cold_size, false);
  return parts;
}

} // namespace clr
