#include "core/execution/call_counting_stub.h"

#include "core/isa/architecture.h"

#include <array>

namespace clr {
namespace {

constexpr std::size_t max_stub = 64;

bool matches(std::span<const std::byte> bytes, std::span<const std::int16_t> code) {
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i] != StubPattern::any && code[i] != std::to_integer<int>(bytes[i])) return false;
  return true;
}

} // namespace

std::optional<Address> call_counting_target(MemoryReader& memory, Cpu cpu, Address ip) {
  const StubPattern& stub = architecture_of(cpu).call_counting_stub;
  std::array<std::byte, max_stub> raw{};
  const std::span<std::byte> bytes = std::span(raw).first(stub.code.size());
  for (const Address instruction : stub.instructions) {
    const Address start = ip - instruction;
    if (memory.read_some(start, bytes) < bytes.size() || !matches(bytes, stub.code)) continue;
    const std::int64_t distance = load<std::int32_t>(bytes.subspan(stub.target_at), ByteOrder::little);
    std::array<std::byte, 8> cell{};
    if (memory.read_some(start + stub.target_from + static_cast<Address>(distance), cell) < cell.size())
      return std::nullopt;
    return load<std::uint64_t>(cell, ByteOrder::little);
  }
  return std::nullopt;
}

} // namespace clr
