#include "core/isa/x64/references.h"

#include "core/memory/memory_reader.h"

#include <utility>

namespace clr {
namespace {

Address x64_plus(Address base, std::int64_t distance) {
  return base + static_cast<Address>(distance);
}

} // namespace

std::optional<CodeReference> x64_code_reference(Address at, std::span<const std::byte> bytes,
                                                std::optional<KnownRegister>& known) {
  const std::optional<KnownRegister> before = std::exchange(known, std::nullopt);
  const Address end = at + bytes.size();
  using Kind = CodeReference::Kind;
  std::size_t i = 0;
  const auto byte = [&](std::size_t n) {
    return n < bytes.size() ? std::to_integer<unsigned>(bytes[n]) : 0x100u;
  };
  const auto has_at_end = [&](std::size_t n) { return i + n == bytes.size(); };
  // The displacement or immediate of `bits` that the instruction ends with.
  const auto relative = [&](unsigned bits) {
    const auto tail = bytes.last(bits / 8);
    return x64_plus(end, bits == 8 ? std::int64_t{load<std::int8_t>(tail, ByteOrder::little)}
                                   : std::int64_t{load<std::int32_t>(tail, ByteOrder::little)});
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
    known = KnownRegister{reg, value};
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
    known = KnownRegister{field | (rex & 4) << 1, relative(32)};
    return CodeReference{Kind::constant, known->value, false};
  }
  return std::nullopt;
}

void x64_visit_own_addresses(Address start, std::span<const std::byte> code,
                             const std::function<void(Address)>& visit) {
  constexpr std::size_t size = 7;
  // REX.W 8D /r with mod 0, rm 5.
  for (std::size_t i = 0; i + size <= code.size(); ++i) {
    const auto byte = [&](std::size_t k) { return std::to_integer<unsigned>(code[i + k]); };
    if ((byte(0) & 0xfb) != 0x48 || byte(1) != 0x8d || (byte(2) & 0xc7) != 0x05) continue;
    visit(x64_plus(start + i + size, load<std::int32_t>(code.subspan(i + 3, 4), ByteOrder::little)));
  }
}

} // namespace clr
