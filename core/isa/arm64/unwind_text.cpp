#include "core/isa/arm64/unwind_text.h"

#include "core/isa/arm64/unwind.h"

#include <fmt/format.h>

namespace clr {
namespace {

std::string operand_of_arm64(const Arm64UnwindCode& code) {
  using enum Arm64UnwindOp;
  if (code.op == alloc || code.op == add_fp) return fmt::format("{:#x} bytes", code.value);
  if (code.op != save_registers) return {};
  std::string names = saved_register_name(Cpu::arm64, code.registers[0]);
  if (code.register_count == 2) names += ", " + saved_register_name(Cpu::arm64, code.registers[1]);
  if (code.writeback != 0) return fmt::format("{}, sp -= {:#x} first", names, code.writeback);
  return fmt::format("{} at + {:#x}", names, code.offset);
}

} // namespace

std::vector<UnwindRecord> arm64_unwind_records(MemoryReader& memory, Address function, Address base) {
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
    record.steps.push_back({std::nullopt, std::string(to_string(code.op)), operand_of_arm64(code)});
  return {std::move(record)};
}

} // namespace clr
