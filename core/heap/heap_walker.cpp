#include "core/heap/heap_walker.h"

#include <algorithm>
#include <bit>

namespace clr {
namespace {

constexpr unsigned first_bits = 8;

// Words of a target like this host, at almost no cost; and of any other.
class HostWords {
public:
  static constexpr unsigned width = 8;
  explicit HostWords(Platform) {}
  static Address word(const std::byte* at) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static std::uint32_t u32(const std::byte* at) {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
};

class AnyWords {
public:
  explicit AnyWords(Platform platform) : width(platform.pointer_size), order_(platform.byte_order) {}
  Address word(const std::byte* at) const {
    return width == 8 ? load<std::uint64_t>({at, 8}, order_) : load<std::uint32_t>({at, 4}, order_);
  }
  std::uint32_t u32(const std::byte* at) const { return load<std::uint32_t>({at, 4}, order_); }
  unsigned width;

private:
  ByteOrder order_;
};

// Where the next object can be behind memory that was given to a thread, which lies in `range`. The range may
// end where the address space does.
Address behind(const AllocationContext& context, const HeapRange& range, Address least) {
  return context.end < range.end && range.end - context.end > least ? context.end + least : range.end;
}

void add_gap(std::vector<HeapGap>& gaps, HeapGap gap) {
  if (gaps.size() < HeapWalker::max_gaps)
    gaps.push_back(std::move(gap));
  else
    gaps.back().bytes += gap.bytes;
}

} // namespace

HeapWalker::HeapWalker(const HeapMap& map, HeapTypes& types)
    : map_(&map), types_(&types), bytes_(types), platform_(types.target().platform()),
      mark_bits_(types.target()
                     .find_global("ObjectToMethodTableUnmask")
                     .value_or(platform_.pointer_size == 8 ? 7 : 3)),
      known_(std::size_t{1} << first_bits), shift_(64 - first_bits) {
  objects_.reserve(batch);
}

void HeapWalker::grow() {
  std::vector<Known> old = std::move(known_);
  known_.assign(2 * old.size(), {});
  --shift_;
  for (const Known& entry : old) {
    if (entry.method_table == 0) continue;
    std::size_t i = entry.method_table * 0x9E37'79B9'7F4A'7C15 >> shift_;
    while (known_[i].method_table != 0) i = (i + 1) & (known_.size() - 1);
    known_[i] = entry;
  }
}

const HeapWalker::Known* HeapWalker::find(Address method_table, const char*& why) {
  std::size_t i = method_table * 0x9E37'79B9'7F4A'7C15 >> shift_;
  for (; known_[i].method_table != 0; i = (i + 1) & (known_.size() - 1))
    if (known_[i].method_table == method_table) return &known_[i];
  const auto number = types_->find(method_table, why);
  if (!number) return nullptr;
  if (2 * (known_count_ + 1) > known_.size()) {
    grow();
    for (i = method_table * 0x9E37'79B9'7F4A'7C15 >> shift_; known_[i].method_table != 0;)
      i = (i + 1) & (known_.size() - 1);
  }
  const HeapType type = types_->at(*number);
  known_[i] = {method_table, *number, type.base_size, type.component_size, type.has_elements()};
  ++known_count_;
  return &known_[i];
}

// The next address at or behind `at` at which an object begins; the range's end when that is not known.
Address HeapWalker::next_object(Address at, const HeapRange& range, bool missing) {
  const unsigned width = platform_.pointer_size;
  const Address least = 3 * width;
  const auto context = std::ranges::lower_bound(map_->contexts, at, {}, &AllocationContext::begin);
  Address next = range.end;
  if (context != map_->contexts.end() && context->begin < range.end) next = behind(*context, range, least);
  if (missing || map_->state.structures_invalid <= 0) return next;
  // The collector keeps notes where objects were that have died.
  const AnyWords words(platform_);
  const Address end = std::min(next, at + max_search);
  for (Address here = at + width; here + least <= end; here += width) {
    const auto bytes = bytes_.from(here, width, range.end);
    if (bytes.size() < width) break;
    if (types_->known(words.word(bytes.data()) & ~mark_bits_)) return here;
  }
  return next;
}

template<typename Words>
bool HeapWalker::walk_with(const HeapRange& range, const Visit& visit, std::vector<HeapGap>& gaps) {
  const Words words(platform_);
  const unsigned width = words.width;
  const Address least = 3 * width;
  // Objects are aligned to a word; those of the two heaps of large ones to 8 bytes on 32-bit targets, too.
  const Address alignment = range.part == HeapPart::loh || range.part == HeapPart::poh ? 8 : width;
  auto context = std::ranges::lower_bound(map_->contexts, range.begin, {}, &AllocationContext::begin);
  const auto no_context = map_->contexts.end();
  Known last;
  Address at = range.begin;
  objects_.clear();
  const auto hand_over = [&] {
    const bool wanted = objects_.empty() || visit(objects_);
    objects_.clear();
    return wanted;
  };
  while (at < range.end) {
    Address stop = range.end; // up to which objects lie
    while (context != no_context && context->begin < at) ++context;
    if (context != no_context && context->begin < range.end) stop = context->begin;
    const char* why = nullptr;
    bool missing = false;
    while (at < stop) {
      const std::size_t wanted = std::min<Address>(2 * width, range.end - at);
      const std::span<const std::byte> bytes = bytes_.from(at, wanted, range.end);
      if (bytes.size() < 2 * width) {
        missing = bytes.size() < wanted;
        why = missing ? "the memory is not there" : "the memory ends within an object";
        break;
      }
      const std::byte* const data = bytes.data();
      const Address base = at;
      const Address readable = std::min(stop, at + bytes.size() - 2 * width + 1);
      while (at < readable) {
        const std::byte* const here = data + (at - base);
        const Address method_table = words.word(here) & ~mark_bits_;
        if (method_table != last.method_table || method_table == 0) {
          const Known* const known = find(method_table, why);
          if (known == nullptr) break;
          last = *known;
        }
        std::uint64_t size = last.base_size;
        if (last.has_elements) size += std::uint64_t{last.component_size} * words.u32(here + width);
        size = (std::max<std::uint64_t>(least, size) + alignment - 1) & ~(alignment - 1);
        if (size > stop - at) {
          why = stop == range.end ? "the object would reach beyond its segment"
                                  : "the object would reach into memory that was given to a thread";
          break;
        }
        objects_.push_back({at, size, last.number});
        at += size;
        if (objects_.size() == batch && !hand_over()) return false;
      }
      if (why != nullptr) break;
    }
    if (why != nullptr) {
      const Address next = next_object(at, range, missing);
      add_gap(gaps, {.address = at, .bytes = next - at, .why = why, .missing = missing});
      at = next;
    } else if (at < range.end) {
      at = behind(*context, range, least);
    }
  }
  return hand_over();
}

bool HeapWalker::walk(const HeapRange& range, const Visit& visit, std::vector<HeapGap>& gaps) {
  const bool like_host = platform_.pointer_size == 8 && std::endian::native == std::endian::little &&
                         platform_.byte_order == ByteOrder::little;
  return like_host ? walk_with<HostWords>(range, visit, gaps) : walk_with<AnyWords>(range, visit, gaps);
}

} // namespace clr
