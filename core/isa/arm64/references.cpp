#include "core/isa/arm64/references.h"

#include "core/isa/arm64/instruction.h"
#include "core/memory/memory_reader.h"

#include <utility>

namespace clr {
namespace {

// The low `bits` bits of `value`, as a signed number.
std::int64_t sign_extend(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

Address arm64_plus(Address base, std::int64_t distance) {
  return base + static_cast<Address>(distance);
}

} // namespace

std::optional<CodeReference> arm64_code_reference(Address at, std::span<const std::byte> bytes,
                                                  std::optional<KnownRegister>& known) {
  const std::optional<KnownRegister> before = std::exchange(known, std::nullopt);
  if (bytes.size() != arm64_instruction_size) return std::nullopt;
  using Kind = CodeReference::Kind;
  const auto word = load<std::uint32_t>(bytes, ByteOrder::little);
  const unsigned rd = word & 31, rn = (word >> 5) & 31;
  const auto field = [&](unsigned low, unsigned bits) { return (word >> low) & ((1u << bits) - 1); };
  const auto branch = [&](unsigned low, unsigned bits) {
    return CodeReference{Kind::branch, arm64_plus(at, sign_extend(field(low, bits), bits) * 4), true};
  };
  if ((word & 0x7C00'0000) == 0x1400'0000) return branch(0, 26); // b, bl
  if ((word & 0xFF00'0000) == 0x5400'0000 || (word & 0x7E00'0000) == 0x3400'0000)
    return branch(5, 19);                                        // b.cond, cbz, cbnz
  if ((word & 0x7E00'0000) == 0x3600'0000) return branch(5, 14); // tbz, tbnz

  if ((word & 0x1F00'0000) == 0x1000'0000) { // adr, adrp
    const std::uint64_t raw = static_cast<std::uint64_t>(field(5, 19)) << 2 | field(29, 2);
    const bool page = (word & 0x8000'0000) != 0;
    constexpr Address page_mask = 0xFFF;
    const Address value = page ? arm64_plus(at & ~page_mask, sign_extend(raw, 21) * 4096)
                               : arm64_plus(at, sign_extend(raw, 21));
    known = KnownRegister{rd, value};
    if (page) return std::nullopt; // of no meaning without the part within the page
    return CodeReference{Kind::constant, value, false};
  }
  if ((word & 0xFF80'0000) == 0xD280'0000) { // movz Xd, #imm16, lsl #n
    known = KnownRegister{rd, static_cast<std::uint64_t>(field(5, 16)) << (16 * field(21, 2))};
    return std::nullopt;
  }
  if (!before) return std::nullopt;
  if ((word & 0xFF80'0000) == 0xF280'0000 && rd == before->reg) { // movk
    const unsigned shift = 16 * field(21, 2);
    const std::uint64_t part = static_cast<std::uint64_t>(field(5, 16)) << shift;
    known = KnownRegister{rd, (before->value & ~(std::uint64_t{0xFFFF} << shift)) | part};
    if (shift < 32) return std::nullopt; // addresses have a third part
    return CodeReference{Kind::constant, known->value, false};
  }
  if (rn != before->reg) return std::nullopt;
  if ((word & 0xFF80'0000) == 0x9100'0000) { // add Xd, Xn, #imm12
    const std::uint64_t shift = field(22, 1) * 12;
    known = KnownRegister{rd, before->value + (static_cast<std::uint64_t>(field(10, 12)) << shift)};
    return CodeReference{Kind::constant, known->value, false};
  }
  if ((word & 0xFFC0'0000) == 0xF940'0000) // ldr Xt, [Xn, #imm12 * 8]
    return CodeReference{Kind::cell, before->value + std::uint64_t{field(10, 12)} * 8, false};
  if ((word & 0xFF9F'FC1F) == 0xD61F'0000) // br, blr Xn
    return CodeReference{Kind::branch, before->value, true};
  return std::nullopt;
}

void arm64_visit_own_addresses(Address start, std::span<const std::byte> code,
                               const std::function<void(Address)>& visit) {
  std::optional<KnownRegister> known;
  for (std::size_t i = 0; i + arm64_instruction_size <= code.size(); i += arm64_instruction_size)
    if (const auto reference =
            arm64_code_reference(start + i, code.subspan(i, arm64_instruction_size), known))
      visit(reference->address);
}

} // namespace clr
