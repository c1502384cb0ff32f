#include "core/metadata/source_proof.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sha1.h>
#include <sha2.h>
#include <string_view>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t shown_bytes = 8; // of a digest, in messages

using Digest = std::vector<std::byte>;

const std::uint8_t* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

Digest sha1(std::span<const std::byte> bytes) {
  SHA1_CTX state;
  Digest digest(SHA1_DIGEST_LENGTH);
  ::SHA1Init(&state);
  ::SHA1Update(&state, octets(bytes), bytes.size());
  ::SHA1Final(reinterpret_cast<std::uint8_t*>(digest.data()), &state);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  SHA2_CTX state;
  Digest digest(SHA256_DIGEST_LENGTH);
  ::SHA256Init(&state);
  ::SHA256Update(&state, octets(bytes), bytes.size());
  ::SHA256Final(reinterpret_cast<std::uint8_t*>(digest.data()), &state);
  return digest;
}

struct Algorithm {
  std::string_view guid, name;
  std::size_t size;
  Digest (*digest_of)(std::span<const std::byte> bytes);
};
constexpr std::array<Algorithm, 2> algorithms{{
    {"ff1816ec-aa5e-4d10-87f7-6f4963833460", "SHA-1", SHA1_DIGEST_LENGTH, &sha1},
    {"8829d00f-11b8-4213-878b-770e8597ac16", "SHA-256", SHA256_DIGEST_LENGTH, &sha256},
}};

constexpr std::byte carriage_return{'\r'}, line_feed{'\n'};

// With LF, or CRLF, at the end of each line.
std::vector<std::byte> with_line_ends(std::span<const std::byte> text, bool both) {
  std::vector<std::byte> result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == carriage_return && i + 1 < text.size() && text[i + 1] == line_feed) continue;
    if (text[i] == line_feed && both) result.push_back(carriage_return);
    result.push_back(text[i]);
  }
  return result;
}

std::string shown(const Digest& digest) {
  std::string text;
  for (const std::byte each : std::span(digest).first(std::min(shown_bytes, digest.size())))
    text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text + "...";
}

} // namespace

SourceProof prove_source(const std::optional<DocumentHash>& hash, std::span<const std::byte> text) {
  if (!hash) return {SourceFit::no_hash, "the PDB has no hash of it"};
  const std::string guid = to_string(hash->algorithm);
  const auto algorithm = std::ranges::find(algorithms, guid, &Algorithm::guid);
  if (algorithm == algorithms.end())
    return {SourceFit::unknown_hash, fmt::format("the PDB has a hash of an unknown kind, {}", guid)};
  if (hash->digest.size() != algorithm->size)
    return {SourceFit::unknown_hash,
            fmt::format("the PDB has a {} of {} bytes", algorithm->name, hash->digest.size())};
  const Digest found = algorithm->digest_of(text);
  if (found == hash->digest || algorithm->digest_of(with_line_ends(text, false)) == hash->digest ||
      algorithm->digest_of(with_line_ends(text, true)) == hash->digest)
    return {SourceFit::same, {}};
  return {SourceFit::other,
          fmt::format("its {} is {}, the PDB's is {}", algorithm->name, shown(found), shown(hash->digest))};
}

} // namespace clr
