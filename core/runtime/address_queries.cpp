#include "core/runtime/address_queries.h"

#include "core/stack/native_unwinder.h"

#include <fmt/format.h>

namespace clr {

runtime::Answer answer_at(Runtime& runtime, Address address, const NativeNamer& native) {
  runtime::Answer answer = runtime.resolve(address);
  if (auto* miss = std::get_if<MissAnswer>(&answer.result);
      miss != nullptr && miss->symbol.empty() && !miss->method)
    miss->symbol = native(address);
  return answer;
}

UnwindAnswer unwind_at(Runtime& runtime, MemoryReader& memory, Address ip, const NativeNamer& native) {
  UnwindAnswer answer;
  std::string why = "no module";
  if (ExecutionManager* code = runtime.code()) {
    const CodeLookup found = code->find(ip);
    if (const auto* block = std::get_if<CodeBlock>(&found)) {
      const MethodAnswer method = runtime.describe(*block, BodyFound::by_address);
      return {method_and_offset(method.method, method.code), report_unwind(*code, *block)};
    }
    const execution::Miss& miss = std::get<execution::Miss>(found);
    if (miss.reason != MissReason::outside) {
      answer.name = miss.text;
      why = fmt::format("{}: it has no unwind data", miss.text);
    }
  }
  NativeUnwinder unwinder(memory, runtime.platform(), runtime.modules());
  if (const LoadedModule* module = unwinder.module_at(ip)) {
    if (answer.name.empty()) answer.name = native(ip);
    if (answer.name.empty()) answer.name = fmt::format("{} + {:#x}", module->path, ip - module->base);
    why = fmt::format("{} has no usable call frame information for it", module->path);
  }
  auto report = report_unwind(unwinder, runtime.platform().cpu, ip);
  if (!report) throw Error(ErrorKind::invalid_argument, fmt::format("no unwind data for {:#x}: {}", ip, why));
  answer.report = *std::move(report);
  return answer;
}

} // namespace clr
