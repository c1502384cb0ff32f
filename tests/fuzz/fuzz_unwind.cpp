// Unwind data from arbitrary bytes: x64 and arm64 records of managed code, and the call frame information of
// a native module, which libdw parses; and the instructions that unwinding and disassembly look at. The first
// byte chooses; the rest lies at address 0.
#include "core/isa/arm64/unwind.h"
#include "core/isa/code_instructions.h"
#include "core/isa/code_reference.h"
#include "core/isa/suspension_place.h"
#include "core/isa/system_call.h"
#include "core/isa/unwind_record.h"
#include "core/isa/x64/frame_pointer.h"
#include "core/isa/x64/unwind.h"
#include "core/memory/byte_range.h"
#include "core/stack/native_unwinder.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

using namespace clr;

namespace {

// Registers that point into the input.
RegisterContext context_in(Cpu cpu, Address pc) {
  RegisterContext context(cpu);
  for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg) context.set(reg, 64 + reg * 8);
  context.set_pc(pc);
  return context;
}

void unwind_managed(MemoryReader& memory, Cpu cpu) {
  for (const Address ip : {0, 4, 16, 40, 120}) try {
      const FrameLayout layout =
          cpu == Cpu::x64 ? x64_frame_layout(memory, 0, 0, ip, true) : arm64_frame_layout(memory, 0, 0, ip);
      if (cpu == Cpu::x64)
        for (const std::int64_t distance : {0, 16, -8}) x64_layout_by_frame_pointer(layout, distance);
      saved_addresses(layout, context_in(cpu, ip));
      apply_layout(memory, layout, context_in(cpu, ip), FoundBy::unwind_info);
    } catch (const Error&) {
    }
  try {
    if (cpu == Cpu::arm64) {
      const Arm64Function function = read_arm64_function(memory, 0, 0);
      for (const std::uint32_t offset : arm64_layout_changes(function.info))
        if (!function.at_start_of_parent)
          arm64_layout_at(function, 0, std::uint64_t{function.entry.begin} + offset);
    }
  } catch (const Error&) {
  }
  try {
    unwind_records(memory, cpu, 0, 0);
    architecture_of(cpu).function_length(memory, 0, 0);
  } catch (const Error&) {
  }
}

void read_code(MemoryReader& memory, Cpu cpu, std::span<const std::byte> code) {
  constexpr Address at = 0;
  const auto size = static_cast<std::uint32_t>(code.size());
  const Architecture& architecture = architecture_of(cpu);
  const CodeInstructions instructions(memory, cpu, at, size, std::array<std::uint32_t, 1>{0});
  std::uint32_t last = 0;
  CodeReferences references(cpu);
  const auto all = instructions.between(0, size);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t offset = all[i], end = i + 1 < all.size() ? all[i + 1] : size;
    if (offset < last || offset >= size || !instructions.begins_at(offset)) __builtin_trap();
    last = offset;
    references.next(at + offset, code.subspan(offset, end - offset));
    x64_frame_pointer_set(code.subspan(offset));
    if (architecture.stack_effect != nullptr) architecture.stack_effect(code.subspan(offset));
  }
  for (const SuspensionPlace& place : suspension_places(cpu, code, all, 0x28))
    if (!instructions.begins_at(place.branch)) __builtin_trap();
  instructions.calls(0, size);
  instructions.known(0, size);
  if (architecture.visit_own_addresses != nullptr) architecture.visit_own_addresses(at, code, [](Address) {});
  for (Address address = at + 1; address < at + size; address += size / 32 + 1) {
    for (const Cpu any : {cpu, Cpu::unknown}) {
      const bool behind = stands_behind_system_call(memory, any, address).value_or(false);
      if (stands_behind_yield(memory, any, address) && !behind) __builtin_trap();
    }
    if (architecture.follows_call != nullptr) architecture.follows_call(memory, address);
    if (architecture.direct_call_target != nullptr) architecture.direct_call_target(memory, address);
    if (architecture.leaves_by_indirect_jump != nullptr)
      architecture.leaves_by_indirect_jump(memory, address);
  }
}

void unwind_native(MemoryReader& memory, Cpu cpu, Address size) {
  NativeUnwinder unwinder(memory, {8, ByteOrder::little, cpu, Os::unix_like},
                          {{.path = "fuzz", .base = 0, .size = size}});
  unwinder.modules();
  for (Address pc = 1; pc < size; pc += size / 32 + 1) try {
      unwinder.layout(pc);
      for (const FoundBy found_by : {FoundBy::stub, FoundBy::frame_pointer, FoundBy::cfi})
        unwinder.layout(pc, pc % 2 == 0, found_by);
      const auto start = unwinder.function_start(pc);
      if (start && unwinder.module_at(pc) == nullptr) __builtin_trap();
      unwinder.follows_call(pc);
      unwinder.unwind(context_in(cpu, pc), pc % 2 == 0);
    } catch (const Error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::vector<std::byte> bytes(size - 1);
  std::memcpy(bytes.data(), data + 1, size - 1);
  const Cpu cpu = (data[0] & 1) != 0 ? Cpu::arm64 : Cpu::x64;
  const bool native = (data[0] & 2) != 0;
  if (native && bytes.size() > EI_DATA) {
    // Every input would have to find these bytes by itself.
    std::memcpy(bytes.data(), ELFMAG, SELFMAG);
    bytes[EI_CLASS] = std::byte{ELFCLASS64};
    bytes[EI_DATA] = std::byte{ELFDATA2LSB};
  }
  HostMemory memory(bytes);
  if ((data[0] & 4) != 0)
    read_code(memory, cpu, bytes);
  else if (native)
    unwind_native(memory, cpu, bytes.size());
  else
    unwind_managed(memory, cpu);
  return 0;
}
