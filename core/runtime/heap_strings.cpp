#include "core/runtime/heap_strings.h"

#include "core/memory/text_encoding.h"
#include "core/memory/word_hash.h"
#include "core/runtime/name_filter.h"

#include <algorithm>
#include <unordered_map>

namespace clr {
namespace {

// A string's code units, without a copy where the heap's bytes are at hand.
class Texts {
public:
  Texts(Runtime& runtime, HeapReporter& heap)
      : target_(*runtime.target()), bytes_(heap.types()),
        length_(static_cast<Address>(target_.offset("String", "m_StringLength"))),
        first_(static_cast<Address>(target_.offset("String", "m_FirstChar"))) {}

  std::optional<std::uint64_t> length(const HeapObjectRow& row) {
    const auto head = bytes_.from(row.address + length_, 4, no_end);
    if (head.size() < 4) return std::nullopt;
    const std::uint64_t units = load<std::uint32_t>(head, target_.platform().byte_order);
    if (first_ + 2 * units > row.size) return std::nullopt;
    return units;
  }

  // Calls `act` with runs of its first `units` code units, as bytes; false when some are missing.
  template<typename Act>
  bool read(const HeapObjectRow& row, std::uint64_t units, const Act& act) {
    for (std::uint64_t done = 0; done < 2 * units;) {
      const auto some = bytes_.from(row.address + first_ + done, 2, no_end);
      if (some.size() < 2) return false;
      const std::uint64_t here = std::min<std::uint64_t>(some.size() / 2 * 2, 2 * units - done);
      act(some.first(here));
      done += here;
    }
    return true;
  }

  std::optional<std::string> text(const HeapObjectRow& row, std::uint64_t units) {
    std::vector<std::byte> raw;
    raw.reserve(2 * units);
    if (!read(row, units,
              [&](std::span<const std::byte> run) { raw.insert(raw.end(), run.begin(), run.end()); }))
      return std::nullopt;
    std::string text;
    append_utf8(text, raw, target_.platform().byte_order);
    return text;
  }

private:
  static constexpr Address no_end = ~Address{0};
  const Target& target_;
  HeapBytes bytes_;
  Address length_, first_;
};

template<typename Visit>
std::vector<HeapGap> each_string(Runtime& runtime, HeapReporter& heap, const StringQuery& query, Texts& texts,
                                 const Visit& visit) {
  const Target& target = *runtime.target();
  const Address type = target.read_pointer(target.global("StringMethodTable"));
  return heap.for_each_object({.glob = {}, .least_bytes = query.least_bytes}, [&](const HeapObjectRow& row) {
    if (row.type->method_table != type) return true;
    const auto units = texts.length(row);
    return !units || visit(row, *units);
  });
}

} // namespace

std::vector<HeapGap> for_each_string(Runtime& runtime, HeapReporter& heap, const StringQuery& query,
                                     const std::function<bool(const HeapString&)>& visit) {
  Texts texts(runtime, heap);
  const NameFilter filter(query.match);
  return each_string(runtime, heap, query, texts, [&](const HeapObjectRow& row, std::uint64_t units) {
    auto text = texts.text(row, std::min<std::uint64_t>(units, query.text_units));
    if (!text || !filter.accepts(*text)) return true;
    return visit({.address = row.address, .length = units, .text = std::move(*text), .bytes = row.size});
  });
}

DuplicateStrings find_duplicates(Runtime& runtime, HeapReporter& heap, const StringQuery& query,
                                 std::size_t top, const std::function<bool()>& go_on) {
  struct Known {
    HeapObjectRow first;
    std::uint64_t length = 0, count = 0, bytes = 0;
  };
  DuplicateStrings found;
  Texts texts(runtime, heap);
  const NameFilter filter(query.match);
  std::unordered_map<std::uint64_t, Known> known;
  found.gaps = each_string(runtime, heap, query, texts, [&](const HeapObjectRow& row, std::uint64_t units) {
    if (!go_on()) {
      found.interrupted = true;
      return false;
    }
    if (!filter.everything()) {
      const auto text = texts.text(row, std::min<std::uint64_t>(units, query.text_units));
      if (!text || !filter.accepts(*text)) return true;
    }
    WordHash hash; // of the length and of each code unit
    hash.add(units);
    const bool whole = texts.read(row, units, [&](std::span<const std::byte> run) {
      for (std::size_t i = 0; i < run.size(); i += 2)
        hash.add(load<std::uint16_t>(run.subspan(i), ByteOrder::little));
    });
    if (!whole) return true;
    ++found.strings;
    if (known.size() >= max_different_strings && !known.contains(hash.value())) return true;
    Known& entry = known[hash.value()];
    if (entry.count++ == 0) {
      entry.first = row;
      entry.length = units;
    }
    entry.bytes += row.size;
    return true;
  });
  found.texts = known.size();
  std::vector<const Known*> rows;
  for (const auto& [hash, entry] : known)
    if (entry.count > 1) rows.push_back(&entry);
  std::ranges::sort(rows, [](const Known* a, const Known* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first.address < b->first.address;
  });
  if (top != 0 && rows.size() > top) rows.resize(top);
  for (const Known* entry : rows) {
    const auto text = texts.text(entry->first, std::min<std::uint64_t>(entry->length, query.text_units));
    found.rows.push_back({.address = entry->first.address,
                          .length = entry->length,
                          .text = text.value_or(std::string()),
                          .count = entry->count,
                          .bytes = entry->bytes});
  }
  return found;
}

} // namespace clr
