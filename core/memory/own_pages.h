// Addresses of this process with zeroes behind them, which take memory only where they are written. The
// system makes a large page for the cost of a few small ones, where it has any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clr {

class OwnPages {
public:
  OwnPages() = default; // none
  // Reserves `size` bytes of addresses, which begin a large page. When the system has none, data() is null.
  explicit OwnPages(std::uint64_t size);
  ~OwnPages();
  OwnPages(OwnPages&& other) noexcept;
  OwnPages& operator=(OwnPages&& other) noexcept;

  std::byte* data() const { return data_; }

  // Asks for large pages for [begin, begin + size) and what lies with it in the same ones: those take all of
  // their memory as soon as one byte is written. No more than a wish.
  void prefer_large(std::uint64_t begin, std::uint64_t size);
  // Has the pages of [begin, begin + size) made together. When the system cannot, it makes each when it is
  // written.
  void make(std::uint64_t begin, std::uint64_t size);

  static constexpr std::uint64_t large_page = 2 << 20; // bytes

private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

} // namespace clr
