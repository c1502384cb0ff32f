#include "core/isa/code_instructions.h"

#include "core/isa/architecture.h"

#include <algorithm>

namespace clr {
namespace {

// An epilogue at the end of a function is recognised by what may lie behind it.
constexpr std::size_t code_behind = 64;

std::vector<std::byte> read_code(MemoryReader& memory, Address start, std::uint32_t size) {
  std::vector<std::byte> bytes(size + code_behind);
  bytes.resize(memory.read_some(start, bytes));
  if (bytes.size() < size) throw_missing(start + bytes.size());
  return bytes;
}

} // namespace

CodeInstructions::CodeInstructions(MemoryReader& memory, Cpu cpu, Address start, std::uint32_t size,
                                   std::span<const std::uint32_t> begins)
    : bytes_(read_code(memory, start, size)), memory_(bytes_, start) {
  const auto list = architecture_of(cpu).list_instructions;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint32_t end = i + 1 < begins.size() ? std::min(begins[i + 1], size) : size;
    if (begins[i] >= end) continue;
    const std::uint32_t known = list == nullptr ? begins[i] : list(bytes_, begins[i], end, found_);
    if (known < end) gaps_.push_back({known, end});
  }
}

std::span<const std::uint32_t> CodeInstructions::between(std::uint32_t begin, std::uint32_t end) const {
  const auto first = std::ranges::lower_bound(found_.starts, begin);
  const auto last = std::lower_bound(first, found_.starts.end(), end);
  return {first, last};
}

bool CodeInstructions::begins_at(std::uint32_t offset) const {
  return std::ranges::binary_search(found_.starts, offset);
}

bool CodeInstructions::known(std::uint32_t begin, std::uint32_t end) const {
  return std::ranges::none_of(gaps_, [&](const Gap& gap) { return gap.begin < end && gap.end > begin; });
}

bool CodeInstructions::calls(std::uint32_t begin, std::uint32_t end) const {
  const auto first = std::ranges::lower_bound(found_.calls, begin);
  return first != found_.calls.end() && *first < end;
}

} // namespace clr
