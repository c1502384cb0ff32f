#include "core/memory/read_at.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <vector>

using namespace clr;

namespace {

// A file of ten bytes whose reads end as the test says: 0 stands for an interruption, -1 for a fault, else a
// size.
struct Scripted {
  std::vector<int> results;
  std::size_t calls = 0;

  ssize_t operator()(int, void* out, std::size_t size, off_t offset) {
    const int result = results.at(calls++);
    if (result <= 0) {
      errno = result == 0 ? EINTR : EIO;
      return -1;
    }
    const auto got = std::min<std::size_t>(
        {static_cast<std::size_t>(result), size, static_cast<std::size_t>(10 - offset)});
    for (std::size_t i = 0; i < got; ++i)
      static_cast<char*>(out)[i] = static_cast<char>('0' + offset + static_cast<off_t>(i));
    return static_cast<ssize_t>(got);
  }
};

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

TEST_CASE("a read that a signal interrupts is repeated", "[read_at]") {
  std::array<std::byte, 6> out{};
  Scripted file{{0, 2, 0, 0, 6}};
  CHECK(read_at(3, out, 2, std::ref(file)) == 6);
  CHECK(file.calls == 5);
  CHECK(text(out) == "234567");
}

TEST_CASE("a read ends at a fault and at the file's end", "[read_at]") {
  std::array<std::byte, 6> out{};
  Scripted faulty{{3, -1}};
  CHECK(read_at(3, out, 0, std::ref(faulty)) == 3);
  CHECK(text(std::span(out).first(3)) == "012");
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  CHECK(read_at(pipe_ends[0], out, 0) == 0); // ESPIPE: no offsets there
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}
