// GC info from arbitrary bytes, of every CPU and version: the length of a method's code, and all that is
// behind it. The first byte chooses.
#include "core/execution/gc_decoder.h"
#include "core/execution/gc_info.h"
#include "core/memory/byte_range.h"
#include "core/target/target.h"

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr Cpu cpus[] = {Cpu::x64,         Cpu::arm64,   Cpu::x86,    Cpu::arm,
                          Cpu::loongarch64, Cpu::riscv64, Cpu::unknown};
  const Cpu cpu = cpus[data[0] % std::size(cpus)];
  const unsigned version = 2 + (data[0] >> 4) % 3;
  const unsigned pointer_size = cpu == Cpu::x86 || cpu == Cpu::arm ? 4 : 8;
  HostMemory memory(std::as_bytes(std::span(data + 1, size - 1)));
  const Platform platform{pointer_size, ByteOrder::little, cpu, Os::unix_like};
  ContractDescriptor descriptor;
  descriptor.platform = platform;
  const Target target(memory, descriptor, platform);
  std::uint64_t length = 0;
  try {
    length = read_code_length(target, 0, version);
    if (length == 0 || length > max_code_length) __builtin_trap();
  } catch (const Error&) {
  }
  try {
    GcDecoder decoder(target, 0, version);
    if (decoder.header().code_length != length) __builtin_trap();
    if (decoder.measure() > size - 1) __builtin_trap();
    for (const GcSlot& slot : decoder.slots().slots) {
      gc_slot_name(cpu, decoder.header(), slot);
      if (gc_slot_words(slot).empty() != (!slot.interior && !slot.pinned && !slot.untracked))
        __builtin_trap();
    }
    for (const std::uint64_t point : decoder.safe_points())
      if (point > length || !decoder.safe_point_at(point)) __builtin_trap();
    for (const GcRange& range : decoder.ranges()) {
      if (range.begin >= range.end || range.end > length) __builtin_trap();
      const auto first = decoder.live_in_range(range.begin), last = decoder.live_in_range(range.end - 1);
      if (!first || !last || first->empty() != first->members().empty()) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
