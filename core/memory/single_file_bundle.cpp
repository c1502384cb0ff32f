#include "core/memory/single_file_bundle.h"

#include "core/memory/memory_reader.h"

#include <algorithm>
#include <array>
#include <functional>

namespace clr {
namespace {

using Bytes = std::span<const std::byte>;

// The signature of a bundle (bundle_marker.cpp of the host). In the host it follows the eight bytes into
// which the bundler writes the offset of the manifest; they are zero in a host without a bundle. It is stored
// here with its bits flipped, so that this program does not contain the marker itself.
constexpr std::array<std::uint8_t, 32> flipped_marker{
    0x74, 0xed, 0xfd, 0x46, 0x95, 0x9e, 0xdf, 0xc7, 0x8d, 0x84, 0x6c, 0xfd, 0xeb, 0x28, 0x5f, 0xcd,
    0xec, 0x0a, 0x46, 0x19, 0x10, 0x51, 0xcc, 0xe7, 0x11, 0xc4, 0xd2, 0x31, 0xdb, 0x4c, 0x95, 0x51};
constexpr std::uint32_t first_version_with_compression = 6, first_version_with_config_offsets = 2;

class Cursor {
public:
  Cursor(Bytes bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  template<typename T>
  T integer() {
    if (at_ > bytes_.size() || bytes_.size() - at_ < sizeof(T)) {
      good_ = false;
      return 0;
    }
    const T value = load<T>(bytes_.subspan(at_), ByteOrder::little);
    at_ += sizeof(T);
    return value;
  }

  // A text in the form of .NET's BinaryWriter: the length in groups of seven bits, then the bytes.
  std::string text() {
    std::uint32_t length = 0;
    for (unsigned shift = 0; shift < 21; shift += 7) {
      const auto group = integer<std::uint8_t>();
      length |= std::uint32_t{group & 0x7fu} << shift;
      if ((group & 0x80) == 0) break;
    }
    if (!good_ || length > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), length);
    at_ += length;
    return text;
  }

  void skip(std::uint64_t count) { at_ += count; }
  bool good() const { return good_; }

private:
  Bytes bytes_;
  std::uint64_t at_;
  bool good_ = true;
};

std::optional<std::uint64_t> find_manifest(Bytes file) {
  std::array<std::byte, flipped_marker.size()> marker;
  std::transform(flipped_marker.begin(), flipped_marker.end(), marker.begin(),
                 [](std::uint8_t byte) { return static_cast<std::byte>(byte ^ 0xff); });
  const auto found =
      std::search(file.begin(), file.end(), std::boyer_moore_horspool_searcher(marker.begin(), marker.end()));
  const auto at = static_cast<std::uint64_t>(found - file.begin());
  if (found == file.end() || at < sizeof(std::uint64_t)) return std::nullopt;
  const auto offset = load<std::uint64_t>(file.subspan(at - sizeof(std::uint64_t)), ByteOrder::little);
  if (offset == 0 || offset >= file.size()) return std::nullopt;
  return offset;
}

} // namespace

std::optional<SingleFileBundle> SingleFileBundle::parse(Bytes file) {
  const auto manifest = find_manifest(file);
  if (!manifest) return std::nullopt;
  Cursor cursor(file, *manifest);
  SingleFileBundle bundle;
  bundle.major_version = cursor.integer<std::uint32_t>();
  cursor.integer<std::uint32_t>(); // minor version
  const auto count = cursor.integer<std::uint32_t>();
  bundle.id = cursor.text();
  if (bundle.major_version >= first_version_with_config_offsets) cursor.skip(5 * sizeof(std::uint64_t));
  if (!cursor.good() || count > max_files) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) {
    Entry entry;
    entry.offset = cursor.integer<std::uint64_t>();
    entry.size = cursor.integer<std::uint64_t>();
    if (bundle.major_version >= first_version_with_compression) {
      const auto stored = cursor.integer<std::uint64_t>();
      entry.compressed = stored != 0;
      if (entry.compressed) entry.size = stored;
    }
    cursor.integer<std::uint8_t>(); // kind of file
    entry.path = cursor.text();
    if (!cursor.good()) return std::nullopt;
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) continue;
    bundle.entries.push_back(std::move(entry));
  }
  std::sort(bundle.entries.begin(), bundle.entries.end(),
            [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  return bundle;
}

const SingleFileBundle::Entry* SingleFileBundle::entry_at(std::uint64_t offset) const {
  auto after = std::upper_bound(entries.begin(), entries.end(), offset,
                                [](std::uint64_t o, const Entry& entry) { return o < entry.offset; });
  if (after == entries.begin()) return nullptr;
  --after;
  return offset - after->offset < after->size ? &*after : nullptr;
}

} // namespace clr
