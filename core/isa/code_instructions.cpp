#include "core/isa/code_instructions.h"

#include "core/isa/x64/instruction.h"

#include <algorithm>

namespace clr {
namespace {

// An epilogue at the end of a function is recognised by what may lie behind it.
constexpr std::size_t code_behind = 64;
constexpr std::uint32_t arm64_instruction = 4;

std::vector<std::byte> read_code(MemoryReader& memory, Address start, std::uint32_t size) {
  std::vector<std::byte> bytes(size + code_behind);
  bytes.resize(memory.read_some(start, bytes));
  if (bytes.size() < size) throw_missing(start + bytes.size());
  return bytes;
}

bool is_x64_call(std::span<const std::byte> instruction) {
  std::size_t at = 0;
  unsigned byte = 0;
  // Prefixes that compilers put before calls.
  for (;; ++at) {
    if (at + 1 >= instruction.size()) return false;
    byte = std::to_integer<unsigned>(instruction[at]);
    if ((byte & 0xF0) != 0x40 && byte != 0xF2 && byte != 0x66 && byte != 0x3E && byte != 0x2E) break;
  }
  if (byte == 0xE8) return true;
  return byte == 0xFF && (std::to_integer<unsigned>(instruction[at + 1]) >> 3 & 7) == 2;
}

bool is_arm64_call(std::uint32_t word) {
  return (word & 0xFC00'0000) == 0x9400'0000     // bl
         || (word & 0xFFFF'FC1F) == 0xD63F'0000; // blr
}

} // namespace

CodeInstructions::CodeInstructions(MemoryReader& memory, Cpu cpu, Address start, std::uint32_t size,
                                   std::span<const std::uint32_t> begins)
    : bytes_(read_code(memory, start, size)), memory_(bytes_, start) {
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint32_t end = i + 1 < begins.size() ? std::min(begins[i + 1], size) : size;
    if (begins[i] >= end) continue;
    if (cpu == Cpu::x64)
      add_x64(begins[i], end);
    else
      add_arm64(begins[i], end);
  }
}

void CodeInstructions::add_x64(std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t at = begin; at < end;) {
    const std::span<const std::byte> rest = from(at);
    const unsigned length = x64_instruction_length(rest);
    if (length == 0) {
      gaps_.push_back({at, end});
      return;
    }
    starts_.push_back(at);
    if (is_x64_call(rest.first(length))) calls_.push_back(at);
    at += length;
  }
}

void CodeInstructions::add_arm64(std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t at = begin; at < end && end - at >= arm64_instruction; at += arm64_instruction) {
    starts_.push_back(at);
    if (is_arm64_call(load<std::uint32_t>(from(at), ByteOrder::little))) calls_.push_back(at);
  }
}

std::span<const std::uint32_t> CodeInstructions::between(std::uint32_t begin, std::uint32_t end) const {
  const auto first = std::ranges::lower_bound(starts_, begin);
  const auto last = std::lower_bound(first, starts_.end(), end);
  return {first, last};
}

bool CodeInstructions::begins_at(std::uint32_t offset) const {
  return std::ranges::binary_search(starts_, offset);
}

bool CodeInstructions::known(std::uint32_t begin, std::uint32_t end) const {
  return std::ranges::none_of(gaps_, [&](const Gap& gap) { return gap.begin < end && gap.end > begin; });
}

bool CodeInstructions::calls(std::uint32_t begin, std::uint32_t end) const {
  const auto first = std::ranges::lower_bound(calls_, begin);
  return first != calls_.end() && *first < end;
}

} // namespace clr
