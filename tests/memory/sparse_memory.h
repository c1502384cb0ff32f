// Target memory of a few runs of bytes with nothing between them.
#pragma once

#include "core/memory/memory_reader.h"

#include <algorithm>
#include <map>
#include <vector>

namespace clr::test {

class SparseMemory final : public MemoryReader {
public:
  void add(Address begin, std::vector<std::byte> bytes) { runs_[begin] = std::move(bytes); }
  void lend(bool lends) { lends_ = lends; }

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto run = at(address + done, 1);
      if (run.empty()) break;
      const std::size_t size = std::min(run.size(), out.size() - done);
      std::copy_n(run.begin(), size, out.begin() + static_cast<std::ptrdiff_t>(done));
      done += size;
    }
    return done;
  }
  std::span<const std::byte> view(Address address, std::size_t size) override {
    return lends_ ? at(address, size).first(at(address, size).empty() ? 0 : size)
                  : std::span<const std::byte>{};
  }

private:
  // From `address` to the end of its run, if at least `size` bytes are there.
  std::span<const std::byte> at(Address address, std::size_t size) const {
    auto after = runs_.upper_bound(address);
    if (after == runs_.begin()) return {};
    --after;
    const std::uint64_t offset = address - after->first;
    if (offset >= after->second.size() || size > after->second.size() - offset) return {};
    return std::span(after->second).subspan(offset);
  }

  std::map<Address, std::vector<std::byte>> runs_;
  bool lends_ = false;
};

} // namespace clr::test
