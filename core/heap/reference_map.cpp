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

// Those that fit into an object without elements: with them, a run grows as the object does. Runs that lie in
// each other would make more references of an object than it has words.
void leave_out_impossible(std::vector<ReferenceMap::Series>& series, const HeapType& type, unsigned width) {
  std::ranges::sort(series, {}, &ReferenceMap::Series::offset);
  std::vector<ReferenceMap::Series> possible;
  std::uint64_t end = 0; // of the last one
  for (const ReferenceMap::Series& run : series) {
    const std::uint64_t bytes = run.adjusted + type.base_size;
    if (run.offset < end || run.offset > type.base_size || bytes > type.base_size - run.offset) continue;
    if (bytes < width && !type.has_elements()) continue;
    possible.push_back(run);
    end = run.offset + bytes;
  }
  series = std::move(possible);
}

void read_runs(const Target& target, const HeapType& type, ReferenceMap& map) {
  const unsigned width = target.pointer_size();
  if (type.has_elements() && map.said > 1)
    throw_corrupt(type.method_table - width, fmt::format("{} runs of references in an array", map.said));
  const Words words(target, type.method_table - width - 2 * map.said * width, 2 * map.said);
  map.series.reserve(map.said);
  for (std::size_t i = 0; i < map.said; ++i) {
    // Sign-extended, so that the sum with the size of an object wraps to what it should be.
    const std::uint64_t adjusted =
        width == 8 ? words.word(2 * i)
                   : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(words.word(2 * i))});
    map.series.push_back({.offset = words.word(2 * i + 1), .adjusted = adjusted});
  }
  leave_out_impossible(map.series, type, width);
}

// What the elements of an array repeat is as long as one of them, and has references wherever it says so.
void read_items(const Target& target, const HeapType& type, ReferenceMap& map) {
  const unsigned width = target.pointer_size();
  const Words words(target, type.method_table - 2 * width - map.said * width, map.said + 1);
  std::vector<ReferenceMap::Item> items;
  // The first one lies at the highest address.
  for (std::size_t i = map.said; i-- > 0;) {
    items.push_back({words.half(i, 0), words.half(i, 1)});
    map.stride += std::uint64_t{items.back().references} * width + items.back().skip;
    if (items.back().references == 0)
      throw_corrupt(type.method_table - width, "a run without references in the elements of an array");
  }
  if (map.stride != type.component_size)
    throw_corrupt(type.method_table - width,
                  fmt::format("{} bytes with references in elements of {}", map.stride, type.component_size));
  map.first = words.word(map.said);
  map.items = std::move(items);
}

} // namespace

ReferenceMap read_reference_map(const Target& target, const HeapType& type, std::size_t most) {
  ReferenceMap map;
  if (!type.has_references()) return map;
  const unsigned width = target.pointer_size();
  const Address place = type.method_table - width;
  try {
    const std::uint64_t raw = Words(target, place, 1).word(0);
    const std::int64_t count = width == 8 ? static_cast<std::int64_t>(raw) : static_cast<std::int32_t>(raw);
    if (count > max_reference_series || count < -max_reference_series)
      throw_corrupt(place, fmt::format("{} runs of references", count));
    // Each run has a reference of its own, in an object or in an element. All are looked at for each of them.
    const auto said = static_cast<std::size_t>(count > 0 ? count : -count);
    const std::uint64_t room = count > 0 ? type.base_size : type.component_size;
    if (said * width > room)
      throw_corrupt(place, fmt::format("{} runs of references in {} bytes", count, room));
    if (said > most)
      throw_corrupt(place, fmt::format("{} runs of references, where {} are left", said, most));
    map.said = said;
    if (count > 0)
      read_runs(target, type, map);
    else if (count < 0)
      read_items(target, type, map);
  } catch (const Error& error) {
    map.fault = error.what();
  }
  return map;
}

const ReferenceMap* ReferenceMaps::known(std::uint32_t type) {
  const std::lock_guard lock(mutex_);
  return type < maps_.size() ? maps_[type].get() : nullptr;
}

const ReferenceMap& ReferenceMaps::of(std::uint32_t type) {
  if (const ReferenceMap* const map = known(type); map != nullptr) return *map;
  const HeapType described = types_->at(type);
  const std::lock_guard reading(types_->reading());
  if (const ReferenceMap* const map = known(type); map != nullptr) return *map; // of another thread
  auto read = std::make_unique<const ReferenceMap>(read_reference_map(types_->target(), described, left_));
  left_ -= read->said;
  const std::lock_guard lock(mutex_);
  if (type >= maps_.size()) maps_.resize(type + 1);
  maps_[type] = std::move(read);
  return *maps_[type];
}

ReferenceMaps::Faults ReferenceMaps::faults() {
  Faults found;
  std::uint32_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t type = 0; type < maps_.size(); ++type) {
      if (maps_[type] == nullptr || maps_[type]->fault.empty() || found.types++ != 0) continue;
      first = type;
      found.first = maps_[type]->fault;
    }
  }
  if (found.types != 0) found.first = fmt::format("{:#x}: {}", types_->at(first).method_table, found.first);
  return found;
}

ReferenceReader::ReferenceReader(ReferenceMaps& maps)
    : maps_(&maps), bytes_(maps.types()), width_(maps.types().target().pointer_size()),
      order_(maps.types().target().platform().byte_order) {}

} // namespace clr
