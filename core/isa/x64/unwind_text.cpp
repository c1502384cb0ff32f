#include "core/isa/x64/unwind_text.h"

#include "core/isa/x64/unwind.h"

#include <fmt/format.h>

namespace clr {
namespace {

std::string machine_register(unsigned number) {
  return saved_register_name(Cpu::x64, x64_dwarf_register(number));
}

std::string operand_of_x64(const X64UnwindInfo& info, const X64UnwindCode& code) {
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
    record.steps.push_back({code.prolog_offset, std::string(to_string(code.op)), operand_of_x64(info, code)});
  return record;
}

} // namespace

std::vector<UnwindRecord> x64_unwind_records(MemoryReader& memory, Address function, Address base) {
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

} // namespace clr
