#include "core/metadata/source_proof.h"

#include "core/memory/text_encoding.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sha1.h>
#include <sha2.h>
#include <string_view>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t shown_digits = 16; // of a digest, in messages

// libmd's function that writes a digest as hexadecimal digits and a NUL.
using WriteDigest = char* (*)(const std::uint8_t* bytes, std::size_t count, char* text);

template<WriteDigest write, std::size_t text_size>
std::string digest_of(std::span<const std::byte> bytes) {
  std::array<char, text_size> text{};
  write(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), text.data());
  return text.data();
}

struct Algorithm {
  std::string_view guid, name;
  std::size_t size;
  std::string (*digest_of)(std::span<const std::byte> bytes); // hexadecimal digits
};
constexpr std::array<Algorithm, 2> algorithms{{
    {"ff1816ec-aa5e-4d10-87f7-6f4963833460", "SHA-1", SHA1_DIGEST_LENGTH,
     &digest_of<::SHA1Data, SHA1_DIGEST_STRING_LENGTH>},
    {"8829d00f-11b8-4213-878b-770e8597ac16", "SHA-256", SHA256_DIGEST_LENGTH,
     &digest_of<::SHA256Data, SHA256_DIGEST_STRING_LENGTH>},
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

std::string shown(std::string_view digest) {
  return fmt::format("{}...", digest.substr(0, shown_digits));
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
  const std::string wanted = hex_digits(hash->digest), found = algorithm->digest_of(text);
  if (found == wanted || algorithm->digest_of(with_line_ends(text, false)) == wanted ||
      algorithm->digest_of(with_line_ends(text, true)) == wanted)
    return {SourceFit::same, {}};
  return {SourceFit::other,
          fmt::format("its {} is {}, the PDB's is {}", algorithm->name, shown(found), shown(wanted))};
}

} // namespace clr
