// GC info from arbitrary bytes: the length of a method's code, of every CPU and version. The first byte
// chooses.
#include "core/execution/gc_info.h"
#include "core/memory/byte_range.h"
#include "core/target/target.h"

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr Cpu cpus[] = {Cpu::x64,         Cpu::arm64,   Cpu::x86,    Cpu::arm,
                          Cpu::loongarch64, Cpu::riscv64, Cpu::unknown};
  const Cpu cpu = cpus[data[0] % std::size(cpus)];
  const unsigned pointer_size = cpu == Cpu::x86 || cpu == Cpu::arm ? 4 : 8;
  HostMemory memory(std::as_bytes(std::span(data + 1, size - 1)));
  const Platform platform{pointer_size, ByteOrder::little, cpu, Os::unix_like};
  ContractDescriptor descriptor;
  descriptor.platform = platform;
  const Target target(memory, descriptor, platform);
  try {
    const std::uint64_t length = read_code_length(target, 0, 2 + (data[0] >> 4) % 3);
    if (length == 0 || length > max_code_length) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
