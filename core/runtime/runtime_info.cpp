#include "core/runtime/runtime_parts.h"

#include "core/memory/count_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace clr {

namespace {
// The contracts without which something is missing in every runtime. Others that this library reads are
// published from .NET 11 on.
constexpr std::string_view contracts_expected[] = {
    "CodeVersions",     "EcmaMetadata", "Exception",         "ExecutionManager", "Loader", "Object",
    "PlatformMetadata", "PrecodeStubs", "RuntimeTypeSystem", "StackWalk",        "Thread",
};

constexpr std::pair<std::string_view, std::string_view> fields_of_assembly_list[] = {
    {"ArrayListBlock", "Size"},
    {"ArrayListBlock", "ArrayStart"},
    {"ArrayListBlock", "Next"},
    {"Assembly", "Module"},
    {"Module", "Assembly"}};

// ELF processes and cores are treated as Linux here; the descriptor itself only says "unix".
std::string_view os_name(Os os) {
  switch (os) {
  case Os::unix_like:
    return "linux";
  case Os::windows:
    return "windows";
  case Os::apple:
    return "macos";
  case Os::unknown:
    break;
  }
  return "";
}

std::vector<ContractInfo> contracts_of(const ContractDescriptor& descriptor) {
  std::vector<ContractInfo> list;
  for (const auto& [name, version] : descriptor.contracts)
    list.push_back({.name = name,
                    .version = version,
                    .used = is_contract_read(name),
                    .known = contract_use(descriptor, name).form.has_value()});
  for (const std::string_view name : contracts_expected)
    if (!descriptor.contracts.contains(name)) list.push_back({std::string(name), "", true});
  return list;
}
// A minimal core has a hole for every piece of code that no stack needs, so only a few are listed.
constexpr std::size_t max_told_holes = 3;

void add_holes(RuntimeInfo& info, const std::vector<EnumerationHole>& holes) {
  for (std::size_t i = 0; i < std::min(holes.size(), max_told_holes); ++i)
    info.problems.push_back(holes[i].what);
  if (holes.size() > max_told_holes)
    info.problems.push_back(fmt::format("and {} more such places: there is more code than was counted",
                                        holes.size() - max_told_holes));
}

// What of the contracts cannot be read.
void add_contract_faults(RuntimeInfo& info, const ContractDescriptor& descriptor) {
  for (const ContractInfo& contract : info.contracts) {
    if (!contract.used) continue;
    if (std::string fault = contract_use(descriptor, contract.name).fault; !fault.empty())
      info.problems.push_back(std::move(fault));
  }
}
} // namespace

void Runtime::count_code(RuntimeInfo& info) {
  const std::vector<RangeSection>& sections = parts_->code.sections();
  info.range_sections = sections.size();
  std::set<Address> heaps;
  std::size_t functions = 0, unread = 0; // of ReadyToRun images; images that cannot be read
  std::string fault;                     // of the first one
  for (const RangeSection& section : sections) {
    if (section.heap_list != 0) heaps.insert(section.heap_list);
    if (section.r2r_module == 0) continue;
    try {
      functions += parts_->code.r2r_image(section).function_count;
    } catch (const std::exception& error) {
      if (unread++ == 0) fault = error.what();
    }
  }
  if (unread != 0)
    info.problems.push_back(fmt::format("R2R functions of {} are not counted: {}{}",
                                        count_text(unread, "image"), fault,
                                        unread == 1 ? "" : ", and so on"));
  info.code_heaps = heaps.size();
  if (functions != 0 || unread == 0) info.r2r_functions = functions; // none read: not known
  std::size_t bodies = 0;
  parts_->code.for_each_jitted([&](const JittedBody&) {
    ++bodies;
    return true;
  });
  info.jitted_methods = bodies;
}

RuntimeInfo Runtime::summary() const {
  RuntimeInfo info;
  info.os = os_name(platform_.os);
  info.cpu = to_string(platform_.cpu);
  describe_location(info);
  if (located_ && !located_->descriptor.contracts.empty()) {
    info.contracts = contracts_of(located_->descriptor);
    if (located_->kind == RuntimeKind::coreclr) add_contract_faults(info, located_->descriptor);
  }
  return info;
}

RuntimeInfo Runtime::info() {
  RuntimeInfo info = summary();
  if (!parts_) return info;
  info.supplements = supplements_in_use(parts_->target);
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      info.problems.emplace_back(error.what());
    }
  };
  attempt([&] { count_code(info); });
  attempt([&] {
    const std::size_t holes = modules_of_app_domain(parts_->target).holes;
    if (holes == 0) return;
    info.problems.push_back(
        fmt::format("{} of the app domain cannot be read", count_text(holes, "assembly", "assemblies")));
    for (const auto& [type, field] : fields_of_assembly_list)
      parts_->target.offset(type, field); // may say why
  });
  attempt([&] {
    info.modules = parts_->names.modules();
    for (const Address address : parts_->names.module_addresses()) parts_->names.named_modules().at(address);
  });
  add_holes(info, parts_->code.holes());
  return info;
}

} // namespace clr
