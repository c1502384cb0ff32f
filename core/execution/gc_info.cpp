#include "core/execution/gc_info.h"

#include <fmt/format.h>

namespace clr {
namespace {

// 7 bits a byte, most significant first, top bit = more follow.
std::uint64_t byte_coded_length(GcBits& bits) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::uint32_t byte = bits.take(8);
    value = value << 7 | (byte & 0x7F);
    if ((byte & 0x80) == 0) return value;
  }
  bits.corrupt("an endless code length");
}

std::uint64_t believable(GcBits& bits, std::uint64_t length) {
  if (length == 0 || length > max_code_length) bits.corrupt(fmt::format("a code length of {}", length));
  return length;
}

} // namespace

std::uint64_t read_gc_code_length(GcBits& bits, const GcInfoForm& form) {
  const std::uint64_t units = bits.unsigned_number(form.group_bits);
  // The product would not fit into 64 bits.
  if (units > max_code_length) bits.corrupt(fmt::format("a code length of {} instructions", units));
  return believable(bits, units * form.unit);
}

std::uint64_t read_code_length(const Target& target, Address gc_info, unsigned version) {
  const Cpu cpu = target.platform().cpu;
  const GcInfoForm& form = architecture_of(cpu).gc_info;
  if (form.kind == GcInfoForm::Kind::unknown)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("the GC info of the CPU {} is not supported", to_string(cpu)));
  GcBits bits(target.memory(), target.platform().wrap(gc_info));
  if (form.kind == GcInfoForm::Kind::bytes) return believable(bits, byte_coded_length(bits));
  const bool has_return_kind = version <= last_gc_info_version_with_return_kind;
  if (!bits.flag()) {
    bits.take(1); // the frame has a stack base register
    if (has_return_kind) bits.take(gc_return_kind_bits_slim);
  } else {
    bits.take(gc_fat_flag_bits);
    if (has_return_kind) bits.take(form.return_kind_bits);
  }
  return read_gc_code_length(bits, form);
}

} // namespace clr
