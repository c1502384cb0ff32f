#include "core/execution/runtime_functions.h"

#include <fmt/format.h>

namespace clr {
namespace {

// A header word of ARM-style unwind data (arm, arm64, loongarch64, riscv64).
struct XdataHeader {
  std::uint32_t code_words = 0;
  std::uint32_t epilogs = 0;
  std::uint64_t size = 4; // of the header words
  bool single_epilog = false;
};

XdataHeader read_xdata_header(const Target& target, Address address) {
  const std::uint32_t word = target.read_u32(address);
  // On ARM the version and fragment bits take one bit of the count of code words.
  const bool arm = target.platform().cpu == Cpu::arm;
  XdataHeader header{.code_words = word >> (arm ? 28 : 27),
                     .epilogs = word >> (arm ? 23 : 22) & 31,
                     .single_epilog = (word >> 21 & 1) != 0};
  if (header.code_words == 0 && header.epilogs == 0) {
    const std::uint32_t extension = target.read_u32(address + 4);
    header.code_words = extension >> 16 & 0xFF;
    header.epilogs = extension & 0xFFFF;
    header.size = 8;
  }
  // A single epilog is described in the header itself; its count field is an index into the codes then.
  if (!header.single_epilog) header.size += 4 * std::uint64_t{header.epilogs};
  return header;
}

constexpr std::uint8_t end_c = 0xE5;

} // namespace

RuntimeFunctions::RuntimeFunctions(const Target& target)
    : target_(&target), stride_(target.size_of("RuntimeFunction")),
      begin_(static_cast<Address>(target.offset("RuntimeFunction", "BeginAddress"))),
      unwind_data_(static_cast<Address>(target.offset("RuntimeFunction", "UnwindData"))),
      thumb_(target.platform().cpu == Cpu::arm) {
  if (const auto end = target.find_offset("RuntimeFunction", "EndAddress")) end_ = static_cast<Address>(*end);
}

std::uint32_t RuntimeFunctions::begin(Address table, std::uint32_t index) const {
  const std::uint32_t value = target_->read_u32(entry(table, index) + begin_);
  return thumb_ ? value & ~1u : value;
}

std::uint32_t RuntimeFunctions::unwind_data(Address table, std::uint32_t index) const {
  return target_->read_u32(entry(table, index) + unwind_data_);
}

std::optional<std::uint32_t> RuntimeFunctions::find(Address table, std::uint32_t count,
                                                    std::uint32_t rva) const {
  if (count == 0) return std::nullopt;
  return binary_then_linear(0, count - 1, rva, [&](std::uint32_t i) { return begin(table, i); });
}

std::uint64_t RuntimeFunctions::length(Address table, std::uint32_t index, Address image_base) const {
  if (end_) {
    const std::uint32_t first = begin(table, index);
    const std::uint32_t end = target_->read_u32(entry(table, index) + *end_);
    if (end <= first)
      throw_corrupt(entry(table, index), fmt::format("runtime function from {:#x} to {:#x}", first, end));
    return end - first;
  }
  const Address data = image_base + unwind_data(table, index);
  if (const auto length = target_->find_offset("UnwindInfo", "FunctionLength");
      length || target_->platform().cpu == Cpu::x86)
    return target_->read_u32(data + static_cast<Address>(length.value_or(0)));
  return std::uint64_t{target_->read_u32(data) & 0x3FFFFu} * (target_->pointer_size() / 2);
}

std::uint64_t RuntimeFunctions::unwind_data_size(Address address) const {
  switch (target_->platform().cpu) {
  case Cpu::x64: {
    const auto count_offset = target_->find_offset("UnwindInfo", "CountOfUnwindCodes").value_or(2);
    const std::uint64_t codes = target_->read_u8(address + static_cast<Address>(count_offset));
    // Header, codes, and the personality routine's RVA, which is always there; in multiples of 4.
    return (4 + 2 * codes + 4 + 3) / 4 * 4;
  }
  case Cpu::x86:
    return 4;
  case Cpu::arm:
  case Cpu::arm64: {
    const XdataHeader header = read_xdata_header(*target_, address);
    return header.size + 4 * std::uint64_t{header.code_words} + 4;
  }
  case Cpu::loongarch64:
  case Cpu::riscv64: {
    // The count of code words alone tells the extended form.
    const std::uint32_t word = target_->read_u32(address);
    std::uint64_t size = 4, code_words = word >> 27, epilogs = word >> 22 & 31;
    if (code_words == 0) {
      const std::uint32_t extension = target_->read_u32(address + 4);
      size = 8;
      code_words = extension >> 16 & 0xFF;
      epilogs = extension & 0xFFFF;
    }
    if ((word >> 21 & 1) == 0) size += 4 * epilogs;
    return size + 4 * code_words + 4;
  }
  default:
    throw Error(ErrorKind::unsupported_contract, fmt::format("the unwind data of the CPU {} is not supported",
                                                             to_string(target_->platform().cpu)));
  }
}

bool RuntimeFunctions::is_fragment(Address table, std::uint32_t index, Address image_base) const {
  const Address data = image_base + unwind_data(table, index);
  switch (target_->platform().cpu) {
  case Cpu::arm:
    return (target_->read_u32(data) >> 22 & 1) != 0;
  case Cpu::arm64: {
    const XdataHeader header = read_xdata_header(*target_, data);
    return header.code_words != 0 && target_->read_u8(data + header.size) == end_c;
  }
  default:
    return false;
  }
}

} // namespace clr
