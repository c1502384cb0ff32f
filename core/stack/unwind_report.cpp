#include "core/stack/unwind_report.h"

#include "core/stack/managed_unwinder.h"
#include "core/stack/unwind_arm64.h"
#include "core/stack/unwind_x64.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned x64_xmm0 = 17, arm64_v0 = 64;

std::string machine_register(unsigned number) {
  return std::string(register_name(Cpu::x64, x64_dwarf_register(number)));
}

std::string what_x64(const X64UnwindInfo& info, const X64UnwindCode& code) {
  switch (code.op) {
  case X64UnwindOp::push_nonvol:
    return machine_register(code.info);
  case X64UnwindOp::alloc_large:
  case X64UnwindOp::alloc_small:
    return fmt::format("{:#x} bytes", code.value);
  case X64UnwindOp::set_fpreg:
  case X64UnwindOp::set_fpreg_large:
    return fmt::format("{} = rsp + {:#x}", machine_register(info.frame_register), info.frame_offset);
  case X64UnwindOp::save_nonvol:
  case X64UnwindOp::save_nonvol_far:
    return fmt::format("{} at + {:#x}", machine_register(code.info), code.value);
  case X64UnwindOp::save_xmm128:
  case X64UnwindOp::save_xmm128_far:
    return fmt::format("xmm{} at + {:#x}", code.info, code.value);
  case X64UnwindOp::push_machframe:
    return code.value != 0 ? "with an error code" : "without an error code";
  case X64UnwindOp::epilog:
  case X64UnwindOp::spare:
    break;
  }
  return {};
}

UnwindRecord record_x64(const X64RuntimeFunction& function, const X64UnwindInfo& info, Address base) {
  UnwindRecord record{.begin = base + function.begin,
                      .end = base + function.end,
                      .unwind_info = base + function.unwind_data,
                      .version = info.version,
                      .details = {},
                      .steps = {}};
  record.details.push_back(fmt::format("prologue of {} bytes", info.prolog_size));
  if (info.frame_register != 0)
    record.details.push_back(fmt::format("frame register {} = rsp + {:#x}",
                                         machine_register(info.frame_register), info.frame_offset));
  const bool exception = (info.flags & X64UnwindInfo::exception_handler) != 0,
             termination = (info.flags & X64UnwindInfo::termination_handler) != 0;
  if (exception || termination) {
    std::string handler = exception && termination ? "exception and termination handler"
                          : exception              ? "exception handler"
                                                   : "termination handler";
    // Jitted code states none: the runtime has one for all of it.
    if (info.handler.value_or(0) != 0) handler += fmt::format(" at {:#x}", base + *info.handler);
    record.details.push_back(std::move(handler));
  }
  if (info.parent) record.details.emplace_back("chained");
  for (const X64UnwindCode& code : info.codes)
    record.steps.push_back({code.prolog_offset, std::string(to_string(code.op)), what_x64(info, code)});
  return record;
}

std::vector<UnwindRecord> x64_records(MemoryReader& memory, Address function, Address base) {
  std::vector<UnwindRecord> records;
  X64RuntimeFunction entry = read_x64_runtime_function(memory, function);
  for (unsigned depth = 0; depth < max_x64_chain; ++depth) {
    const X64UnwindInfo info = read_x64_unwind_info(memory, base + entry.unwind_data);
    records.push_back(record_x64(entry, info, base));
    if (depth == 0) records.back().function = function;
    if (!info.parent) break;
    entry = *info.parent;
  }
  return records;
}

std::string what_arm64(const Arm64UnwindCode& code) {
  using enum Arm64UnwindOp;
  if (code.op == alloc || code.op == add_fp) return fmt::format("{:#x} bytes", code.value);
  if (code.op != save_registers) return {};
  std::string names = saved_register_name(Cpu::arm64, code.registers[0]);
  if (code.register_count == 2) names += ", " + saved_register_name(Cpu::arm64, code.registers[1]);
  if (code.writeback != 0) return fmt::format("{}, sp -= {:#x} first", names, code.writeback);
  return fmt::format("{} at + {:#x}", names, code.offset);
}

std::vector<UnwindRecord> arm64_records(MemoryReader& memory, Address function, Address base) {
  const Arm64Function found = read_arm64_function(memory, function, base);
  const Arm64RuntimeFunction& entry = found.entry;
  const Arm64UnwindInfo& info = found.info;
  UnwindRecord record{.function = function,
                      .begin = base + entry.begin,
                      .end = base + entry.begin + info.function_length,
                      .unwind_info = info.packed ? 0 : info.address,
                      .version = info.version,
                      .details = {},
                      .steps = {}};
  if (info.packed) record.details.emplace_back("packed form");
  if (found.at_start_of_parent)
    record.details.emplace_back("of the function that this code belongs to, as at its start");
  if (info.single_epilog)
    record.details.push_back(fmt::format("one epilogue at the end, codes from {}", info.epilog_code_index));
  for (const Arm64EpilogScope& epilogue : info.epilogs)
    record.details.push_back(
        fmt::format("epilogue at + {:#x}, codes from {}", epilogue.start, epilogue.code_index));
  if (info.has_handler)
    record.details.push_back(info.handler.value_or(0) == 0
                                 ? "exception handler"
                                 : fmt::format("exception handler at {:#x}", base + *info.handler));
  for (const Arm64UnwindCode& code : decode_arm64_codes(info, 0))
    record.steps.push_back({std::nullopt, std::string(to_string(code.op)), what_arm64(code)});
  return {std::move(record)};
}

std::string place_of(Cpu cpu, const RegisterOffset& at) {
  std::string name = saved_register_name(cpu, at.reg);
  if (at.offset == 0) return name;
  return at.offset < 0 ? fmt::format("{} - {:#x}", name, ~static_cast<std::uint64_t>(at.offset) + 1)
                       : fmt::format("{} + {:#x}", name, at.offset);
}

} // namespace

std::vector<UnwindRecord> unwind_records(MemoryReader& memory, Cpu cpu, Address function, Address base) {
  return cpu == Cpu::arm64 ? arm64_records(memory, function, base) : x64_records(memory, function, base);
}

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

std::string saved_register_name(Cpu cpu, unsigned reg) {
  if (const std::string_view name = register_name(cpu, reg); !name.empty()) return std::string(name);
  if (cpu == Cpu::x64 && reg >= x64_xmm0 && reg < x64_xmm0 + 16) return fmt::format("xmm{}", reg - x64_xmm0);
  if (cpu == Cpu::arm64 && reg >= arm64_v0 && reg < arm64_v0 + 32) return fmt::format("v{}", reg - arm64_v0);
  return fmt::format("register {}", reg);
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
  if (cpu == Cpu::arm64 && layout.find(arm64_register::lr) == nullptr &&
      layout.find(arm64_register::pc) == nullptr)
    lines.emplace_back("the return address is in lr");
  if (layout.interrupted) lines.emplace_back("the caller was interrupted: all of its registers are known");
  if (layout.signed_return_address) lines.emplace_back("the return address is signed");
  return lines;
}

} // namespace clr
