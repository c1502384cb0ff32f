// Runs DWARF expressions. The test supplies the registers and memory that a debugger would read.
#pragma once

#include <catch2/catch.hpp>
#include <dwarf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace clr {

struct ExpressionMachine {
  std::map<std::uint64_t, std::uint64_t> registers, words;
  std::size_t reads = 0;
  bool is_value = false; // DW_OP_stack_value: what is left is no address

  std::uint64_t run(const std::vector<std::byte>& code) {
    std::vector<std::uint64_t> values;
    std::size_t at = 0;
    const auto byte = [&] { return std::to_integer<std::uint64_t>(code.at(at++)); };
    const auto half = [&] {
      const std::uint64_t low = byte();
      return low | byte() << 8;
    };
    const auto leb = [&](bool has_sign) {
      std::uint64_t value = 0, part = 0;
      unsigned shift = 0;
      do {
        part = byte();
        value |= (part & 0x7F) << shift;
        shift += 7;
      } while ((part & 0x80) != 0);
      if (has_sign && (part & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return value;
    };
    const auto pop = [&] {
      REQUIRE_FALSE(values.empty());
      const std::uint64_t value = values.back();
      values.pop_back();
      return value;
    };
    const auto known = [](const std::map<std::uint64_t, std::uint64_t>& from, std::uint64_t key) {
      const auto found = from.find(key);
      REQUIRE(found != from.end());
      return found->second;
    };
    while (at < code.size()) {
      const std::uint64_t op = byte();
      if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
        values.push_back(known(registers, op - DW_OP_breg0) + leb(true));
      } else if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
        values.push_back(op - DW_OP_lit0);
      } else if (op == DW_OP_const1u) {
        values.push_back(byte());
      } else if (op == DW_OP_const2u) {
        values.push_back(half());
      } else if (op == DW_OP_constu) {
        values.push_back(leb(false));
      } else if (op == DW_OP_deref) {
        ++reads;
        values.push_back(known(words, pop()));
      } else if (op == DW_OP_over) {
        values.push_back(values.at(values.size() - 2));
      } else if (op == DW_OP_swap) {
        std::swap(values.at(values.size() - 1), values.at(values.size() - 2));
      } else if (op == DW_OP_drop) {
        pop();
      } else if (op == DW_OP_nop) {
      } else if (op == DW_OP_stack_value) {
        is_value = true;
      } else if (op == DW_OP_skip) {
        const std::uint64_t distance = half();
        at += distance;
      } else if (op == DW_OP_bra) {
        const std::uint64_t distance = half();
        if (pop() != 0) at += distance;
      } else {
        const std::uint64_t right = pop(), left = pop();
        switch (op) {
        case DW_OP_plus:
          values.push_back(left + right);
          break;
        case DW_OP_minus:
          values.push_back(left - right);
          break;
        case DW_OP_mul:
          values.push_back(left * right);
          break;
        case DW_OP_shr:
          values.push_back(left >> right);
          break;
        case DW_OP_and:
          values.push_back(left & right);
          break;
        case DW_OP_or:
          values.push_back(left | right);
          break;
        case DW_OP_lt:
          values.push_back(static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right) ? 1 : 0);
          break;
        case DW_OP_eq:
          values.push_back(left == right ? 1 : 0);
          break;
        default:
          FAIL("operation " << op);
        }
      }
    }
    REQUIRE(values.size() == 1);
    return values[0];
  }
};

} // namespace clr
