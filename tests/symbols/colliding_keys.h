// Numbers that fall into one bucket of a table whose hash of a number is the number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace clr::test {

// How far apart they lie, for a table of `count` numbers.
inline std::uint64_t colliding_step(std::size_t count) {
  std::unordered_set<std::uint64_t> table;
  for (std::size_t i = 0; i < count; ++i) table.insert(i);
  return table.bucket_count();
}

} // namespace clr::test
