// The digest of R2R perf map signatures. Source: RFC 1321. A library for this one identity of old files would
// be a dependency of every user's host.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace clr {

std::array<std::byte, 16> md5(std::span<const std::byte> bytes);

} // namespace clr
