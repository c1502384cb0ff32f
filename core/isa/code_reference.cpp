#include "core/isa/code_reference.h"

#include "core/memory/memory_reader.h"

namespace clr {
namespace {

using Kind = CodeReference::Kind;

// The low `bits` bits of `value`, as a signed number.
std::int64_t sign_extend(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

Address plus(Address base, std::int64_t distance) {
  return base + static_cast<std::uint64_t>(distance);
}

} // namespace

std::optional<CodeReference> CodeReferences::next(Address at, std::span<const std::byte> bytes) {
  const std::optional<Known> before = known_;
  known_.reset();
  if (cpu_ == Cpu::x64) return next_x64(at, bytes, before);
  if (cpu_ == Cpu::arm64 && bytes.size() == 4)
    return next_arm64(at, load<std::uint32_t>(bytes, ByteOrder::little), before);
  return std::nullopt;
}

std::optional<CodeReference> CodeReferences::next_x64(Address at, std::span<const std::byte> bytes,
                                                      std::optional<Known> before) {
  const Address end = at + bytes.size();
  std::size_t i = 0;
  const auto byte = [&](std::size_t n) {
    return n < bytes.size() ? std::to_integer<unsigned>(bytes[n]) : 0x100u;
  };
  const auto has_at_end = [&](std::size_t n) { return i + n == bytes.size(); };
  // The displacement or immediate of `bits` that the instruction ends with.
  const auto relative = [&](unsigned bits) {
    const auto tail = bytes.last(bits / 8);
    return plus(end, bits == 8 ? sign_extend(load<std::uint8_t>(tail, ByteOrder::little), 8)
                               : sign_extend(load<std::uint32_t>(tail, ByteOrder::little), 32));
  };

  // Prefixes that compilers put before calls and jumps (rep, notrack, operand size), then REX.
  while (byte(i) == 0x66 || byte(i) == 0xF2 || byte(i) == 0xF3 || byte(i) == 0x3E || byte(i) == 0x2E) ++i;
  unsigned rex = 0;
  if (byte(i) >= 0x40 && byte(i) <= 0x4F) rex = byte(i++);
  const unsigned op = byte(i++);
  const bool wide = (rex & 8) != 0;

  if ((op == 0xE8 || op == 0xE9) && has_at_end(4)) return CodeReference{Kind::branch, relative(32), true};
  if ((op == 0xEB || (op >= 0x70 && op <= 0x7F)) && has_at_end(1))
    return CodeReference{Kind::branch, relative(8), true};
  if (op == 0x0F && byte(i) >= 0x80 && byte(i) <= 0x8F && bytes.size() == i + 5)
    return CodeReference{Kind::branch, relative(32), true};
  if (op >= 0xB8 && op <= 0xBF && wide && has_at_end(8)) {
    const unsigned reg = (op & 7) | (rex & 1) << 3;
    const std::uint64_t value = load<std::uint64_t>(bytes.last(8), ByteOrder::little);
    known_ = Known{reg, value};
    return CodeReference{Kind::constant, value, false};
  }

  const unsigned modrm = byte(i);
  if (modrm > 0xFF) return std::nullopt;
  ++i;
  const unsigned mod = modrm >> 6, field = (modrm >> 3) & 7, rm = modrm & 7;
  const unsigned base = rm | (rex & 1) << 3;
  const bool rip_relative = mod == 0 && rm == 5 && has_at_end(4);
  if (op == 0xFF && (field == 2 || field == 4)) {
    if (rip_relative) return CodeReference{Kind::cell, relative(32), true};
    if (before && before->reg == base && rm != 4 && has_at_end(0)) {
      if (mod == 3) return CodeReference{Kind::branch, before->value, true};
      if (mod == 0 && rm != 5) return CodeReference{Kind::cell, before->value, true};
    }
  }
  if (!rip_relative || !wide) return std::nullopt;
  if (op == 0x8B) return CodeReference{Kind::cell, relative(32), false};
  if (op == 0x8D) {
    known_ = Known{field | (rex & 4) << 1, relative(32)};
    return CodeReference{Kind::constant, known_->value, false};
  }
  return std::nullopt;
}

std::optional<CodeReference> CodeReferences::next_arm64(Address at, std::uint32_t word,
                                                        std::optional<Known> before) {
  const unsigned rd = word & 31, rn = (word >> 5) & 31;
  const auto field = [&](unsigned low, unsigned bits) { return (word >> low) & ((1u << bits) - 1); };
  const auto branch = [&](unsigned low, unsigned bits) {
    return CodeReference{Kind::branch, plus(at, sign_extend(field(low, bits), bits) * 4), true};
  };
  if ((word & 0x7C00'0000) == 0x1400'0000) return branch(0, 26); // b, bl
  if ((word & 0xFF00'0000) == 0x5400'0000 || (word & 0x7E00'0000) == 0x3400'0000)
    return branch(5, 19);                                        // b.cond, cbz, cbnz
  if ((word & 0x7E00'0000) == 0x3600'0000) return branch(5, 14); // tbz, tbnz

  if ((word & 0x1F00'0000) == 0x1000'0000) { // adr, adrp
    const std::uint64_t raw = static_cast<std::uint64_t>(field(5, 19)) << 2 | field(29, 2);
    const bool page = (word & 0x8000'0000) != 0;
    constexpr Address page_mask = 0xFFF;
    const Address value =
        page ? plus(at & ~page_mask, sign_extend(raw, 21) * 4096) : plus(at, sign_extend(raw, 21));
    known_ = Known{rd, value};
    if (page) return std::nullopt; // of no meaning without the part within the page
    return CodeReference{Kind::constant, value, false};
  }
  if ((word & 0xFF80'0000) == 0xD280'0000) { // movz Xd, #imm16, lsl #n
    known_ = Known{rd, static_cast<std::uint64_t>(field(5, 16)) << (16 * field(21, 2))};
    return std::nullopt;
  }
  if (!before) return std::nullopt;
  if ((word & 0xFF80'0000) == 0xF280'0000 && rd == before->reg) { // movk
    const unsigned shift = 16 * field(21, 2);
    const std::uint64_t part = static_cast<std::uint64_t>(field(5, 16)) << shift;
    known_ = Known{rd, (before->value & ~(std::uint64_t{0xFFFF} << shift)) | part};
    if (shift < 32) return std::nullopt; // addresses have a third part
    return CodeReference{Kind::constant, known_->value, false};
  }
  if (rn != before->reg) return std::nullopt;
  if ((word & 0xFF80'0000) == 0x9100'0000) { // add Xd, Xn, #imm12
    const std::uint64_t shift = field(22, 1) * 12;
    known_ = Known{rd, before->value + (static_cast<std::uint64_t>(field(10, 12)) << shift)};
    return CodeReference{Kind::constant, known_->value, false};
  }
  if ((word & 0xFFC0'0000) == 0xF940'0000) // ldr Xt, [Xn, #imm12 * 8]
    return CodeReference{Kind::cell, before->value + std::uint64_t{field(10, 12)} * 8, false};
  if ((word & 0xFF9F'FC1F) == 0xD61F'0000) // br, blr Xn
    return CodeReference{Kind::branch, before->value, true};
  return std::nullopt;
}

} // namespace clr
