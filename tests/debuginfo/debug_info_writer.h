// Writes debug info in the codings of every release. It follows the specification and does not use the
// product's code, so that the two check each other.
#pragma once

#include "core/debuginfo/bounds.h"
#include "core/debuginfo/variables.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

namespace clr::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes(std::initializer_list<unsigned> values) {
  Bytes result;
  for (const unsigned value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

inline void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

constexpr BoundsCoding all_bounds_codings[] = {BoundsCoding::nibbles, BoundsCoding::packed_2_bits,
                                               BoundsCoding::packed_3_bits};

class NibbleWriter {
public:
  NibbleWriter& u32(std::uint32_t value) {
    const unsigned groups = std::max(1u, (static_cast<unsigned>(std::bit_width(value)) + 2) / 3);
    for (unsigned i = groups; i-- > 0;) {
      const std::uint64_t group = std::uint64_t{value} >> (3 * i) & 7;
      nibbles_.push_back(static_cast<unsigned>(group) | (i > 0 ? 8u : 0u));
    }
    return *this;
  }
  NibbleWriter& i32(std::int32_t value) {
    const auto magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
    return u32(magnitude << 1 | (value < 0 ? 1u : 0u));
  }
  // Padded to a byte.
  Bytes bytes() const {
    Bytes result;
    for (std::size_t i = 0; i < nibbles_.size(); i += 2)
      result.push_back(
          static_cast<std::byte>(nibbles_[i] | (i + 1 < nibbles_.size() ? nibbles_[i + 1] << 4 : 0)));
    return result;
  }

private:
  std::vector<unsigned> nibbles_;
};

// The block of an IL map. Widths of the packed codings are at least those given.
inline Bytes bounds_bytes(const std::vector<IlBoundary>& map, BoundsCoding coding, unsigned native_width = 1,
                          unsigned il_width = 1) {
  NibbleWriter out;
  out.u32(static_cast<std::uint32_t>(map.size()));
  const auto delta = [&](std::size_t i) { return map[i].native - (i > 0 ? map[i - 1].native : 0); };
  const auto il = [&](std::size_t i) { return static_cast<std::uint32_t>(map[i].il + 3); };
  if (coding == BoundsCoding::nibbles) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      const unsigned source = ((map[i].source & IlBoundary::stack_empty) != 0 ? 0x02u : 0u) |
                              ((map[i].source & IlBoundary::call_instruction) != 0 ? 0x10u : 0u);
      out.u32(delta(i)).u32(il(i)).u32(source);
    }
    return out.bytes();
  }
  for (std::size_t i = 0; i < map.size(); ++i) {
    native_width = std::max(native_width, static_cast<unsigned>(std::bit_width(delta(i))));
    il_width = std::max(il_width, static_cast<unsigned>(std::bit_width(il(i))));
  }
  Bytes result = out.u32(native_width - 1).u32(il_width - 1).bytes();
  std::vector<bool> bits;
  const auto put = [&](std::uint32_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bits.push_back((value >> i & 1) != 0);
  };
  for (std::size_t i = 0; i < map.size(); ++i) {
    put(map[i].source, coding == BoundsCoding::packed_2_bits ? 2 : 3);
    put(delta(i), native_width);
    put(il(i), il_width);
  }
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    unsigned byte = 0;
    for (std::size_t bit = 0; bit < 8 && i + bit < bits.size(); ++bit)
      if (bits[i + bit]) byte |= 1u << bit;
    result.push_back(static_cast<std::byte>(byte));
  }
  return result;
}

inline void put_location(NibbleWriter& out, const VariableLocation& at, bool x86) {
  const std::int32_t offset = at.offset / (x86 ? 4 : 1);
  out.u32(static_cast<std::uint32_t>(at.home));
  switch (at.home) {
  case VariableHome::reg:
  case VariableHome::reg_byref:
  case VariableHome::reg_fp:
    out.u32(at.reg);
    break;
  case VariableHome::stack:
  case VariableHome::stack_byref:
  case VariableHome::stack2:
    out.u32(at.base).i32(offset);
    break;
  case VariableHome::reg_reg:
    out.u32(at.reg).u32(at.reg2);
    break;
  case VariableHome::reg_stack:
    out.u32(at.reg).u32(at.base).i32(offset);
    break;
  case VariableHome::stack_reg:
    out.i32(offset).u32(at.base).u32(at.reg);
    break;
  case VariableHome::fp_stack:
  case VariableHome::fixed_va:
    out.u32(at.index);
    break;
  }
}

// The block of variables.
inline Bytes variables_bytes(const std::vector<debuginfo::Variable>& variables, VariablesCoding coding,
                             bool x86 = false) {
  NibbleWriter out;
  out.u32(static_cast<std::uint32_t>(variables.size()));
  const std::int64_t lowest = coding == VariablesCoding::from_4   ? -4
                              : coding == VariablesCoding::from_5 ? -5
                                                                  : -6;
  for (const debuginfo::Variable& variable : variables) {
    const auto number = static_cast<std::uint32_t>(variable.number - lowest);
    if (coding == VariablesCoding::number_first) out.u32(number);
    out.u32(variable.begin);
    out.u32(variable.call_il ? *variable.call_il : variable.end - variable.begin);
    if (coding != VariablesCoding::number_first) out.u32(number);
    put_location(out, variable.location, x86);
  }
  return out.bytes();
}

} // namespace clr::test
