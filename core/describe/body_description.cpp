#include "core/describe/body_description.h"

#include "core/describe/code_names.h"

#include <algorithm>
#include <limits>

namespace clr {

FoundBody find_body(ExecutionManager& code, const CodeBlock& block, UnspelledMethod method) {
  FoundBody body{.block = block, .method = std::move(method)};
  ExecutionManager::Layout layout = code.layout(block);
  body.regions = layout.regions;
  body.functions = std::move(layout.functions);
  return body;
}

void BodyDescriber::describe(const FoundBody& body, bool exact, const Method* spelled,
                             std::vector<DescribedPart>& parts, std::string& fault) {
  parts.clear();
  // LLDB amends rows by its own reading of the code, which goes wrong where several functions follow each
  // other.
  const bool precise = exact || body.functions.size() > 1;
  const auto add = [&](Address start, std::uint64_t size, std::uint64_t offset, bool function) {
    if (size == 0 || size > std::numeric_limits<std::uint32_t>::max()) return;
    DescribedPart& part = parts.emplace_back();
    part.code->start = start;
    part.code->size = size;
    part.code->function = function;
    part.offset = offset;
    if (spelled != nullptr)
      part.code.set_names(all_names(*spelled));
    else
      set_few_names(part.code, body.method);
    add_unwinding(part, body, precise, fault);
  };
  const MethodRegions& regions = body.regions;
  add(regions.hot_start, regions.hot_size, 0, true);
  add(regions.cold_start, regions.cold_size, regions.hot_size, false);
}

void BodyDescriber::add_unwinding(DescribedPart& part, const FoundBody& body, bool exact,
                                  std::string& fault) {
  DebugBody& code = *part.code;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      if (fault.empty()) fault = error.what();
    }
  };
  if (exact && code.size <= CodeInstructions::max_bytes) {
    std::vector<std::uint32_t> begins{0};
    for (const ExecutionManager::Function& function : body.functions)
      if (function.begin - code.start < code.size)
        begins.push_back(static_cast<std::uint32_t>(function.begin - code.start));
    attempt([&] {
      part.instructions = std::make_unique<CodeInstructions>(*memory_, cpu_, code.start,
                                                             static_cast<std::uint32_t>(code.size), begins);
    });
  }
  const MethodRegions& regions = body.regions;
  const UnwindedBody where{.start = code.start,
                           .size = static_cast<std::uint32_t>(code.size),
                           .instructions = part.instructions.get(),
                           .same_method = [&](Address target) {
                             return target - regions.hot_start < regions.hot_size ||
                                    target - regions.cold_start < regions.cold_size;
                           }};
  for (const ExecutionManager::Function& function : body.functions) {
    if (function.begin - code.start >= code.size) continue;
    attempt([&] {
      DebugUnwindRange range = rows_.of_function(where, function.entry, body.block.section.begin);
      if (!code.unwind.empty()) {
        DebugUnwindRange& before = code.unwind.back();
        if (range.begin <= before.begin) throw_corrupt(function.entry, "runtime functions out of order");
        if (before.end > range.begin) UnwindRows::cut_end(before, range.begin);
      }
      code.unwind.push_back(std::move(range));
    });
  }
}

} // namespace clr
