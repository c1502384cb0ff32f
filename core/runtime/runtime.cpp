#include "core/runtime/runtime.h"

#include "core/execution/call_counting_stub.h"
#include "core/memory/path_map.h"
#include "core/runtime/runtime_parts.h"
#include "core/runtime/symbol_answer.h"
#include "core/types/module.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

namespace {

FaultAnswer unknown_fault(const std::exception& error) {
  return {.kind = ErrorKind::corrupt, .text = error.what()};
}

// Runs `make`. When it throws, puts the text into `fault` and returns nothing.
template<typename Make>
auto attempt(std::string& fault, std::string_view what, Make&& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const std::exception& error) {
    if (!fault.empty()) fault += "; ";
    fault += fmt::format("{}: {}", what, error.what());
    return std::nullopt;
  }
}

} // namespace

Runtime::Runtime(MemoryReader& memory, std::vector<LoadedModule> modules, Platform platform,
                 AssemblyFiles* files, std::shared_ptr<const DescriptorFile> descriptor)
    : memory_(&memory), files_(files), descriptor_file_(std::move(descriptor)), modules_(std::move(modules)),
      platform_(platform) {
  std::sort(modules_.begin(), modules_.end(),
            [](const LoadedModule& a, const LoadedModule& b) { return a.base < b.base; });
  try {
    locate();
  } catch (const Error& error) {
    absence_ = to_fault(error);
  } catch (const std::exception& error) {
    absence_ = unknown_fault(error);
  }
}

Runtime::~Runtime() = default;

const std::variant<MissAnswer, FaultAnswer>* Runtime::absence() const {
  return absence_ ? &*absence_ : nullptr;
}

const Target* Runtime::target() const {
  return parts_ ? &parts_->target : nullptr;
}
ExecutionManager* Runtime::code() const {
  return parts_ ? &parts_->code : nullptr;
}
MethodNames* Runtime::names() const {
  return parts_ ? &parts_->names : nullptr;
}

SourceLines* Runtime::lines() const {
  return parts_ ? &parts_->lines : nullptr;
}

ObjectReader* Runtime::objects() const {
  return parts_ ? &parts_->objects : nullptr;
}

void Runtime::require_object_start(Address object) {
  if (!parts_ || runtime_module() == nullptr) return;
  if (!parts_->heap_looked_for) {
    parts_->heap_looked_for = true;
    try {
      HeapMap map = read_heap_map(parts_->target, runtime_module()->base);
      if (map.problems.empty() && !map.ranges.empty())
        parts_->heap = std::make_unique<ObjectStarts>(parts_->target, std::move(map));
    } catch (const Error&) {
      // Without it nothing is proved, and nothing refused.
    }
  }
  object = platform().wrap(object);
  if (!parts_->heap) return;
  if (parts_->heap->map().find(object) == nullptr)
    throw_corrupt(object, "no object is there: it lies outside of the managed heap");
  const auto holder = parts_->heap->holder(object);
  if (!holder) return;
  if (holder->free)
    throw_corrupt(object, fmt::format("no object is there: this memory is free, {} bytes from {:#x} on",
                                      holder->size, holder->begin));
  if (holder->begin != object)
    throw_corrupt(
        object,
        fmt::format("no object begins there: it lies {} bytes behind the start of the object at {:#x}",
                    object - holder->begin, holder->begin));
}

const LoadedModule* Runtime::module_at(Address address) const {
  auto after = std::upper_bound(modules_.begin(), modules_.end(), address,
                                [](Address a, const LoadedModule& module) { return a < module.base; });
  if (after == modules_.begin()) return nullptr;
  const LoadedModule& module = *std::prev(after);
  return address - module.base < module.size ? &module : nullptr;
}

runtime::Answer Runtime::resolve(Address ip) {
  runtime::Answer answer = resolve_by_memory(ip);
  if (symbols_) name_by_symbols(answer, *symbols_);
  return answer;
}

runtime::Answer Runtime::resolve_by_memory(Address ip) {
  if (absence_)
    return {ip, std::visit([](const auto& reason) -> decltype(runtime::Answer::result) { return reason; },
                           *absence_)};
  try {
    return resolve_or_throw(ip);
  } catch (const Error& error) {
    return {ip, to_fault(error)};
  } catch (const std::exception& error) {
    return {ip, unknown_fault(error)};
  }
}

runtime::Answer Runtime::resolve_or_throw(Address ip) {
  const CodeLookup found = parts_->code.find(ip);
  if (const auto* miss = std::get_if<execution::Miss>(&found)) return {ip, explain(*miss, ip)};
  const auto& block = std::get<CodeBlock>(found);
  return {ip, MethodAnswer{.method = method_of(block, BodyFound::by_address),
                           .code = describe_code(block, true),
                           .source = std::nullopt}};
}

std::optional<Runtime::CodeImage> Runtime::image_of(Address ip) {
  if (!parts_) return std::nullopt;
  try {
    const RangeSection* const section = parts_->code.section_at(ip);
    if (section == nullptr || section->r2r_module == 0) return std::nullopt;
    const NamedModule& named = parts_->names.named_modules().at(section->r2r_module);
    // The image of many assemblies has no name of its own in memory.
    return CodeImage{is_composite(parts_->target, named.module) ? "composite image" : named.name.str(),
                     section->begin};
  } catch (const Error&) {
    return std::nullopt; // the frame's own fault tells what is missing
  }
}

Method Runtime::method_of(const CodeBlock& block, BodyFound found) {
  Method method = compiled_method(block, found);
  parts_->names.add_user_method(method);
  return method;
}

Method Runtime::compiled_method(const CodeBlock& block, BodyFound found) {
  if (block.method_desc != 0) {
    if (block.kind == CodeKind::jitted)
      parts_->claims.check(parts_->names.method_desc(block.method_desc), block.start, block.code_header,
                           found);
    return parts_->names.describe(block.method_desc);
  }
  // A ReadyToRun method that never ran has no MethodDesc yet; the tables of its image give the name.
  if (const Method* method = parts_->names.r2r_method(block.section, block.method_index)) return *method;
  Method unnamed;
  unnamed.degraded = "the image's tables do not name this function";
  return unnamed;
}

MethodAnswer Runtime::describe(const CodeBlock& block, BodyFound found) {
  MethodAnswer answer;
  try {
    answer.method = method_of(block, found);
  } catch (const std::exception& error) {
    answer.method.method_desc = block.method_desc;
    answer.method.degraded = error.what();
  }
  answer.code = describe_code(block, true);
  return answer;
}

void Runtime::add_source(runtime::Answer& answer) {
  auto* method = std::get_if<MethodAnswer>(&answer.result);
  if (method == nullptr) return;
  try {
    const CodeLookup found = parts_->code.find(answer.address);
    if (const auto* block = std::get_if<CodeBlock>(&found))
      add_source(*method, *block, NativeOffsetKind::exact);
  } catch (const std::exception&) {
    // The method has just been found; a missing source line is not worth a fault.
  }
}

void Runtime::add_source(MethodAnswer& answer, const CodeBlock& block, NativeOffsetKind kind) {
  answer.source = parts_->lines.at(block, answer.method, kind);
}

Method Runtime::describe(Address method_desc) {
  Method method = method_at(method_desc);
  if (parts_) parts_->names.add_user_method(method);
  return method;
}

UnspelledMethod Runtime::describe_once(Address method_desc) {
  UnspelledMethod method;
  if (parts_) {
    try {
      method = parts_->names.describe_once(method_desc);
      parts_->names.add_user_method(method);
      return method;
    } catch (const Error& error) {
      method.degraded = error.what();
    }
  }
  method.method_desc = method_desc;
  return method;
}

Method Runtime::method_at(Address method_desc) {
  return described(method_desc, [&](MethodNames& names) { return names.describe(method_desc); });
}

template<typename Describe>
Method Runtime::described(Address method_desc, const Describe& describe) {
  Method method;
  try {
    if (parts_) return describe(parts_->names);
    method.degraded = "there is no runtime that can be read";
  } catch (const std::exception& error) {
    method.degraded = error.what();
  }
  method.method_desc = method_desc;
  return method;
}

runtime::Code Runtime::describe_code(const CodeBlock& block, bool with_offset) {
  ExecutionManager& manager = parts_->code;
  runtime::Code code;
  code.kind = block.kind;
  code.start = block.start;
  const auto regions = attempt(code.fault, "size", [&] { return manager.regions(block); });
  if (regions && regions->hot_size != 0) {
    code.regions.push_back({CodePart::hot, regions->hot_start, regions->hot_size});
    if (regions->cold_size != 0)
      code.regions.push_back({CodePart::cold, regions->cold_start, regions->cold_size});
  }
  const auto tier = attempt(code.fault, "tier",
                            [&] { return parts_->names.tier(block.method_desc, block.start, block.kind); });
  code.tier = tier.value_or(Tier::unknown);
  if (!with_offset) return code;
  code.offset = attempt(code.fault, "offset", [&] { return manager.relative_offset(block); });
  const auto in_funclet = attempt(code.fault, "funclet", [&] { return manager.is_funclet(block); });
  if (in_funclet.value_or(false))
    code.funclet = attempt(code.fault, "funclet", [&] { return manager.funclet_start(block); });
  return code;
}

MissAnswer Runtime::explain(const execution::Miss& miss, Address ip) {
  MissAnswer answer{.reason = miss.reason, .text = miss.text};
  if (miss.method_desc) answer.method = describe(*miss.method_desc);
  const LoadedModule* module = module_at(ip);
  const bool nobodys = miss.reason == MissReason::outside || miss.reason == MissReason::native;
  if (nobodys && module != nullptr) {
    answer.reason = MissReason::native;
    answer.module = file_name_of(module->path);
    answer.text =
        fmt::format("native code of {}", answer.module.empty() ? "a module without a name" : answer.module);
  } else if (miss.reason == MissReason::outside) {
    explain_call_counting(answer, ip);
  }
  return answer;
}

void Runtime::explain_call_counting(MissAnswer& answer, Address ip) {
  const Target& target = parts_->target;
  const auto code = call_counting_target(target.memory(), target.platform().cpu, ip);
  if (!code) return;
  answer.reason = MissReason::stub;
  answer.text = "call counting stub";
  const CodeLookup found = parts_->code.find(*code);
  if (const auto* block = std::get_if<CodeBlock>(&found); block != nullptr && block->method_desc != 0) {
    answer.method = describe(block->method_desc);
    answer.text += " of " + answer.method->shown_name();
  }
}

} // namespace clr
