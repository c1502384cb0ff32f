// The instructions of a stretch of code: where they begin and which of them call.
#pragma once

#include "core/memory/byte_range.h"
#include "core/memory/memory_reader.h"

#include <cstdint>
#include <span>
#include <vector>

namespace clr {

struct InstructionList {
  std::vector<std::uint32_t> starts, calls; // offsets, ascending; every call is among the starts
};

class CodeInstructions {
public:
  // Reads the code of [start, start + size) and tells its instructions apart, anew at each of `begins`
  // (offsets of functions, ascending). All of it is unknown for a CPU whose instructions are not decoded.
  // Cost: 1 read. Throws Error{memory_missing}.
  CodeInstructions(MemoryReader& memory, Cpu cpu, Address start, std::uint32_t size,
                   std::span<const std::uint32_t> begins);
  CodeInstructions(const CodeInstructions&) = delete;
  CodeInstructions& operator=(const CodeInstructions&) = delete;

  // Offsets of the instructions in [begin, end), ascending; those behind an instruction that is not known are
  // missing up to the next function.
  std::span<const std::uint32_t> between(std::uint32_t begin, std::uint32_t end) const;
  bool begins_at(std::uint32_t offset) const;
  // All instructions of [begin, end) are known.
  bool known(std::uint32_t begin, std::uint32_t end) const;
  bool calls(std::uint32_t begin, std::uint32_t end) const;

  // The code, and what lies behind it where that can be read.
  MemoryReader& memory() { return memory_; }
  std::span<const std::byte> from(std::uint32_t offset) const { return std::span(bytes_).subspan(offset); }

  static constexpr std::uint32_t max_bytes = 16 * 1024 * 1024;

private:
  struct Gap {
    std::uint32_t begin = 0, end = 0;
  };

  std::vector<std::byte> bytes_;
  HostMemory memory_;
  InstructionList found_;
  std::vector<Gap> gaps_; // of what is not known
};

} // namespace clr
