// Memory whose reads end by an exception that is no fault of the target's data.
#pragma once

#include "core/memory/memory_reader.h"

#include <cstdint>
#include <new>

namespace clr::test {

// The debugger's own memory is out at read number `at`, and there again afterwards. 0: never.
class OutOfMemoryReader : public MemoryReader {
public:
  OutOfMemoryReader(MemoryReader& memory, std::uint64_t at) : memory_(&memory), at_(at) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (++reads_ == at_) throw std::bad_alloc();
    return memory_->read_some(address, out);
  }
  std::uint64_t reads() const { return reads_; }

private:
  MemoryReader* memory_;
  std::uint64_t at_, reads_ = 0;
};

} // namespace clr::test
