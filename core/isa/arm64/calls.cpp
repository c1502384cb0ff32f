#include "core/isa/arm64/calls.h"

namespace clr {
namespace {

std::optional<std::uint32_t> instruction_before(MemoryReader& memory, Address return_address) {
  std::byte raw[4];
  if (return_address < sizeof raw || memory.read_some(return_address - sizeof raw, raw) < sizeof raw)
    return std::nullopt;
  return load<std::uint32_t>(raw, ByteOrder::little);
}

bool is_direct_call(std::uint32_t instruction) {
  return (instruction & 0xFC00'0000) == 0x9400'0000; // bl
}

} // namespace

bool arm64_is_call(std::uint32_t instruction) {
  return is_direct_call(instruction) ||
         (instruction & 0xFEFF'F000) == 0xD63F'0000; // blr and its authenticating forms
}

std::optional<bool> arm64_follows_call(MemoryReader& memory, Address return_address) {
  const auto instruction = instruction_before(memory, return_address);
  if (!instruction) return std::nullopt;
  return arm64_is_call(*instruction);
}

std::optional<Address> arm64_direct_call_target(MemoryReader& memory, Address return_address) {
  const auto instruction = instruction_before(memory, return_address);
  if (!instruction || !is_direct_call(*instruction)) return std::nullopt;
  // A distance in words, of 26 bits with a sign.
  const auto distance = static_cast<std::int32_t>(*instruction << 6) >> 6;
  return return_address - 4 + static_cast<Address>(std::int64_t{distance} * 4);
}

} // namespace clr
