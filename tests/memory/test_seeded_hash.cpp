// Hashes of keys that are chosen so that they collide elsewhere.
#include "core/memory/seeded_hash.h"

#include <catch2/catch.hpp>
#include <string>
#include <unordered_set>

using namespace clr;

namespace {

template<typename Table>
std::size_t fullest_bucket(const Table& table) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < table.bucket_count(); ++i) most = std::max(most, table.bucket_size(i));
  return most;
}

} // namespace

TEST_CASE("seeded hash: numbers that share all buckets of a known hash are apart", "[hash]") {
  constexpr std::size_t count = 20'000;
  std::unordered_set<std::uint64_t> known;
  for (std::uint64_t i = 0; i < count; ++i) known.insert(i);
  const std::uint64_t step = GENERATE_COPY(std::uint64_t{1}, std::uint64_t{known.bucket_count()},
                                           std::uint64_t{1} << 32, std::uint64_t{1} << 47);
  CAPTURE(step);
  std::unordered_set<std::uint64_t, SeededHash> table;
  for (std::uint64_t i = 0; i < count; ++i) table.insert(i * step);
  CHECK(table.size() == count);
  CHECK(fullest_bucket(table) < 40);
  CHECK(table.contains(7 * step));
  CHECK_FALSE(table.contains(count * step + 1));
}

TEST_CASE("seeded hash: texts", "[hash]") {
  const SeededHash hash;
  const std::string text = "System.Collections.Generic.List`1.Add(T)";
  CHECK(hash(text) == hash(std::string(text)));
  std::unordered_set<std::size_t> seen{hash(text), hash(std::string_view())};
  std::size_t texts = 2;
  for (std::size_t i = 0; i < text.size(); ++i, texts += 2) {
    std::string other = text;
    other[i] ^= 1;
    seen.insert(hash(other));
    seen.insert(hash(text.substr(0, i + 1) + std::string(1, '\0')));
  }
  CHECK(seen.size() == texts);
}
