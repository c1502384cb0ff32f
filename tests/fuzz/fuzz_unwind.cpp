// Unwind data from arbitrary bytes: x64 and arm64 records of managed code, and the call frame information of
// a native module, which libdw parses. The first byte chooses; the rest lies at address 0.
#include "core/isa/arm64/unwind.h"
#include "core/isa/x64/unwind.h"
#include "core/memory/byte_range.h"
#include "core/stack/native_unwinder.h"

#include <elf.h>

#include <algorithm>
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
      apply_layout(memory, layout, context_in(cpu, ip), FoundBy::unwind_info);
    } catch (const Error&) {
    }
}

void unwind_native(MemoryReader& memory, Cpu cpu, Address size) {
  NativeUnwinder unwinder(memory, {8, ByteOrder::little, cpu, Os::unix_like},
                          {{.path = "fuzz", .base = 0, .size = size}});
  for (Address pc = 1; pc < size; pc += size / 16 + 1) try {
      unwinder.layout(pc);
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
  if (native)
    unwind_native(memory, cpu, bytes.size());
  else
    unwind_managed(memory, cpu);
  return 0;
}
