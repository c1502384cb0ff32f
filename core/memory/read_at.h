// Reads a file of the host at an offset, also when signals interrupt the reading.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>
#include <unistd.h>

namespace clr {

// Fills `out` with the bytes of `file` from `offset` on and returns how many there are: fewer at the end of
// the file and after an error. A read that a signal interrupts (EINTR) is repeated, because the interruption
// says nothing about the file. Tests pass their own `read` that is interrupted.
template<typename Read = decltype(&::pread)>
std::size_t read_at(int file, std::span<std::byte> out, std::uint64_t offset, Read read = &::pread) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = read(file, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

} // namespace clr
