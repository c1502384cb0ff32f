#include "core/memory/path_map.h"
#include "core/runtime/runtime_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

namespace {
std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "; ") + sentence;
  return text;
}
// Such a program is what any native one is to a debugger.
std::string native_aot_text(MemoryReader& memory, const LocatedRuntime& runtime) {
  std::string facts;
  const auto add = [&](const std::string& fact) {
    if (!fact.empty()) facts += (facts.empty() ? "" : ", ") + fact;
  };
  add(runtime_version(memory, runtime));
  add(contracts_beginning_with(runtime.descriptor, 'n'));
  return fmt::format(
      "{} is a NativeAOT program{}; its code has native symbols and unwind data, use LLDB's own "
      "commands; only CoreCLR can be read",
      file_name_of(runtime.module.path), facts.empty() ? facts : fmt::format(" ({})", facts));
}
} // namespace

void Runtime::locate() {
  RuntimeSearch search = locate_runtimes(*memory_, modules_, platform_.cpu, descriptor_file_.get());
  problems_ = std::move(search.problems);
  if (search.runtimes.empty()) {
    MissAnswer none{.reason = MissReason::no_runtime, .text = "there is no .NET runtime in this process"};
    if (modules_.empty())
      none.text = "there is no .NET runtime to be found: no module of the process is known";
    if (!problems_.empty()) none.text += fmt::format(" that can be read ({})", joined(problems_));
    absence_ = std::move(none);
    return;
  }
  // Several runtimes in one process are independent of each other; the first one is the main runtime of the
  // process.
  for (std::size_t i = 1; i < search.runtimes.size(); ++i)
    problems_.push_back(fmt::format("a second runtime, {} in {}, is not looked at",
                                    to_string(search.runtimes[i].kind),
                                    file_name_of(search.runtimes[i].module.path)));
  located_ = std::move(search.runtimes.front());
  const std::string_view place = file_name_of(located_->module.path);
  if (located_->kind == RuntimeKind::native_aot) {
    absence_ = MissAnswer{.reason = MissReason::native_aot, .text = native_aot_text(*memory_, *located_)};
    return;
  }
  if (located_->kind != RuntimeKind::coreclr) {
    absence_ =
        MissAnswer{.reason = MissReason::no_runtime,
                   .text = fmt::format(
                       "the runtime of this process is {}, in {}; its native code has native symbols and "
                       "unwind data, use LLDB's own commands; only CoreCLR can be read",
                       to_string(located_->kind), place)};
    return;
  }
  if (!located_->started) {
    absence_ = MissAnswer{.reason = MissReason::not_started,
                          .text = fmt::format("the runtime in {} is loaded but has not started yet", place)};
    return;
  }
  parts_ = std::make_unique<Parts>(*memory_, located_->descriptor, platform_, files_);
  platform_ = parts_->target.platform();
  const std::string& program = located_->module.path;
  parts_->lines.set_program_folder(program.substr(0, program.rfind('/') + 1));
}

void Runtime::describe_location(RuntimeInfo& info) const {
  info.problems = problems_;
  if (!located_) return;
  info.name = to_string(located_->kind);
  info.descriptor = located_->descriptor.address;
  info.found_in = file_name_of(located_->module.path);
  info.found_by = to_string(located_->source);
  try {
    info.version = runtime_version(*memory_, *located_);
  } catch (const Error& error) {
    info.problems.push_back(fmt::format("the runtime's version: {}", error.what()));
  }
}

DescriptorFile Runtime::record_descriptor() const {
  if (located_ && located_->source == DescriptorSource::file) return *descriptor_file_;
  if (!located_ || located_->descriptor.types.empty())
    throw Error(ErrorKind::invalid_argument, "there is no runtime that publishes a data descriptor");
  if (located_->source == DescriptorSource::dac_table)
    return record_known_layouts(*memory_, located_->module, located_->descriptor);
  return clr::record_descriptor(*memory_, located_->module, located_->descriptor.address);
}

const LoadedModule* Runtime::runtime_module() const {
  return located_ ? module_at(located_->module.base) : nullptr;
}

} // namespace clr
