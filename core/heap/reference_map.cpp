#include "core/heap/reference_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

class Words {
public:
  Words(const Target& target, Address at, std::size_t count)
      : width_(target.pointer_size()), order_(target.platform().byte_order), raw_(count * width_) {
    target.read_bytes(at, raw_);
  }
  std::uint64_t word(std::size_t i) const { return part(i * width_, width_); }
  // The lower and the upper half of a word, as they lie in memory.
  std::uint32_t half(std::size_t i, unsigned which) const {
    return static_cast<std::uint32_t>(part(i * width_ + which * width_ / 2, width_ / 2));
  }

private:
  std::uint64_t part(std::size_t at, unsigned bytes) const {
    const auto rest = std::span(raw_).subspan(at);
    return bytes == 8   ? load<std::uint64_t>(rest, order_)
           : bytes == 4 ? load<std::uint32_t>(rest, order_)
                        : load<std::uint16_t>(rest, order_);
  }
  unsigned width_;
  ByteOrder order_;
  std::vector<std::byte> raw_;
};

} // namespace

ReferenceMap read_reference_map(const Target& target, const HeapType& type) {
  ReferenceMap map;
  if (!type.has_references()) return map;
  const unsigned width = target.pointer_size();
  const Address table = type.method_table;
  try {
    const std::uint64_t raw = Words(target, table - width, 1).word(0);
    const std::int64_t count = width == 8 ? static_cast<std::int64_t>(raw) : static_cast<std::int32_t>(raw);
    if (count > max_reference_series || count < -max_reference_series)
      throw_corrupt(table - width, fmt::format("{} runs of references", count));
    // Each run has a reference of its own, in an object or in an element. All are looked at for each of them.
    const std::uint64_t room = count > 0 ? type.base_size : type.component_size;
    if (static_cast<std::uint64_t>(count > 0 ? count : -count) * width > room)
      throw_corrupt(table - width, fmt::format("{} runs of references in {} bytes", count, room));
    if (count > 0) {
      const auto n = static_cast<std::size_t>(count);
      const Words words(target, table - width - 2 * n * width, 2 * n);
      for (std::size_t i = 0; i < n; ++i) {
        // Sign-extended, so that the sum with the size of an object wraps to what it should be.
        const std::uint64_t adjusted =
            width == 8
                ? words.word(2 * i)
                : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(words.word(2 * i))});
        map.series.push_back({.offset = words.word(2 * i + 1), .adjusted = adjusted});
      }
      std::ranges::sort(map.series, {}, &ReferenceMap::Series::offset);
    } else if (count < 0) {
      const auto n = static_cast<std::size_t>(-count);
      const Words words(target, table - 2 * width - n * width, n + 1);
      map.first = words.word(n);
      // The first one lies at the highest address.
      for (std::size_t i = n; i-- > 0;) map.items.push_back({words.half(i, 0), words.half(i, 1)});
    }
  } catch (const Error& error) {
    map.fault = error.what();
  }
  return map;
}

const ReferenceMap& ReferenceMaps::of(std::uint32_t type) {
  {
    const std::lock_guard lock(mutex_);
    if (type < maps_.size() && maps_[type] != nullptr) return *maps_[type];
  }
  const HeapType described = types_->at(type);
  std::unique_ptr<const ReferenceMap> read;
  {
    const std::lock_guard reading(types_->reading());
    read = std::make_unique<const ReferenceMap>(read_reference_map(types_->target(), described));
  }
  const std::lock_guard lock(mutex_);
  if (type >= maps_.size()) maps_.resize(type + 1);
  if (maps_[type] == nullptr) maps_[type] = std::move(read);
  return *maps_[type];
}

ReferenceReader::ReferenceReader(ReferenceMaps& maps)
    : maps_(&maps), bytes_(maps.types()), width_(maps.types().target().pointer_size()),
      order_(maps.types().target().platform().byte_order) {}

} // namespace clr
