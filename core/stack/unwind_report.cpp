#include "core/stack/unwind_report.h"

#include "core/stack/managed_unwinder.h"

#include <fmt/format.h>

namespace clr {
namespace {

std::string place_of(Cpu cpu, const RegisterOffset& at) {
  std::string name = saved_register_name(cpu, at.reg);
  if (at.offset == 0) return name;
  return at.offset < 0 ? fmt::format("{} - {:#x}", name, ~static_cast<std::uint64_t>(at.offset) + 1)
                       : fmt::format("{} + {:#x}", name, at.offset);
}

} // namespace

UnwindReport report_unwind(ExecutionManager& code, const CodeBlock& block) {
  ManagedUnwinder unwinder(code);
  UnwindReport report{.ip = block.ip, .cpu = code.target().platform().cpu, .records = {}, .layout = {}};
  report.layout = unwinder.layout(block, true);
  report.base = code.unwind_info_base(block);
  const Address function = code.unwind_info(block);
  MemoryReader& memory = code.target().memory();
  report.records = unwind_records(memory, report.cpu, function, report.base);
  return report;
}

std::optional<UnwindReport> report_unwind(NativeUnwinder& native, Cpu cpu, Address pc) {
  auto layout = native.layout(pc);
  if (!layout) return std::nullopt;
  return UnwindReport{
      .ip = pc, .cpu = cpu, .source = FoundBy::cfi, .records = {}, .layout = *std::move(layout)};
}

std::vector<std::string> describe_layout(Cpu cpu, const FrameLayout& layout) {
  std::vector<std::string> lines;
  if (layout.outermost) return {"the outermost frame: it has no caller"};
  lines.push_back(fmt::format("CFA = {}", place_of(cpu, layout.cfa)));
  for (const SavedRegister& saved : layout.saved) {
    std::string at = place_of(cpu, saved.at);
    if (const auto offset = layout.offset_from_cfa(saved))
      at = *offset < 0 ? fmt::format("CFA - {:#x}", -*offset) : fmt::format("CFA + {:#x}", *offset);
    lines.push_back(fmt::format("{} at {}", saved_register_name(cpu, saved.reg), at));
  }
  if (layout.stack_pointer_at)
    lines.push_back(fmt::format("the caller's sp at {}", place_of(cpu, *layout.stack_pointer_at)));
  const Architecture& architecture = architecture_of(cpu);
  const RegisterRoles& roles = architecture.roles;
  if (!architecture.returns_by_stack() && layout.find(roles.return_address) == nullptr &&
      layout.find(roles.pc) == nullptr)
    lines.push_back(fmt::format("the return address is in {}", register_name(cpu, roles.return_address)));
  if (layout.interrupted) lines.emplace_back("the caller was interrupted: all of its registers are known");
  if (layout.signed_return_address) lines.emplace_back("the return address is signed");
  return lines;
}

} // namespace clr
