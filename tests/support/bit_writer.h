// Writes bits, the lowest of a byte first: GC info.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace clr::test {

class BitWriter {
public:
  void put(std::uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++used_) {
      if (used_ % 8 == 0) bytes_.push_back(std::byte{0});
      if (value >> i & 1) bytes_.back() |= std::byte(1u << used_ % 8);
    }
  }
  // Groups of `base` bits, lowest first, each with a bit that says whether another follows.
  void variable(std::uint64_t value, unsigned base) {
    for (bool more = true; more; value >>= base) {
      more = value >> base != 0;
      put((value & ((1u << base) - 1)) | (more ? 1u << base : 0), base + 1);
    }
  }
  void signed_variable(std::int64_t value, unsigned base) {
    for (bool more = true; more; value >>= base) {
      const std::int64_t rest = value >> (base - 1); // of the sign alone nothing is left to say
      more = rest != 0 && rest != -1;
      const auto low = static_cast<std::uint64_t>(value) & ((1u << base) - 1);
      put(low | (more ? 1u << base : 0), base + 1);
    }
  }
  std::vector<std::byte> bytes() const { return bytes_; }

  void align() { used_ = static_cast<unsigned>(8 * bytes_.size()); }
  unsigned position() const { return used_; }

private:
  std::vector<std::byte> bytes_;
  unsigned used_ = 0;
};

} // namespace clr::test
