// A number by which sequences of words are told apart, within one session only.
#pragma once

#include <cstdint>

namespace clr {

// FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), by words instead of bytes; the upper half is folded into the
// lower one, which words that differ in high bits alone would not change else. No reads.
class WordHash {
public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100'0000'01b3;
    value_ ^= value_ >> 32;
  }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf2'9ce4'8422'2325;
};

} // namespace clr
