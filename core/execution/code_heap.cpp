#include "core/execution/code_heap.h"

#include "core/execution/stub_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace clr {
namespace {

// StubCodeBlockLast, when the descriptor does not state it.
constexpr std::uint64_t default_last_stub_kind = 0xF;
// Bytes of a nibble map that an enumeration reads at once.
constexpr std::uint64_t bytes_per_read = 65536;
constexpr std::size_t unit_size = sizeof(std::uint32_t);
// Memory is missing in whole pages at least.
constexpr Address page_size = 4096;
// A heap's map begins at a page, and pages have at most this size.
constexpr Address largest_page = 65536;

// How far the block at `start` reaches for sure, when `unit` is the first one behind it that nothing marks:
// over the marked ones in between, of which there may be none.
Address least_end(Address start, Address unit) {
  return unit - start > NibbleMap::unit_bytes ? unit : start;
}

} // namespace

CodeHeaps::CodeHeaps(const Target& target, NibbleMapVersion version)
    : target_(&target), version_(version),
      last_stub_kind_(target.find_global("StubCodeBlockLast").value_or(default_last_stub_kind)) {
  const std::size_t word = target.pointer_size();
  start_ = span_.require(target, "StartAddress", word);
  end_ = span_.require(target, "EndAddress", word);
  map_base_ = span_.require(target, "MapBase", word);
  map_ = span_.require(target, "HeaderMap", word);
}

CodeHeaps::Node CodeHeaps::read_node(const RangeSection& section) const {
  const Address address = section.heap_list;
  if (address == 0) throw_corrupt(address, "a code heap section without a heap");
  const target::Record record(*target_, address, span_);
  const Node node{.start = record.pointer(start_),
                  .end = record.pointer(end_),
                  .map_base = record.pointer(map_base_),
                  .map = record.pointer(map_)};
  if (node.start < node.map_base || node.end < node.map_base || node.end - node.map_base > max_heap_bytes)
    throw_corrupt(address, fmt::format("code heap from {:#x} to {:#x}", node.start, node.end));
  if (node.map + max_heap_bytes < node.map)
    throw_corrupt(address, "a code heap whose nibble map wraps around");
  // Else a damaged base would have gigabytes of a map looked through.
  if (node.map_base + largest_page < section.begin || node.end > section.end + largest_page)
    throw_corrupt(address, fmt::format("code heap from {:#x} to {:#x}, beyond its range section",
                                       node.map_base, node.end));
  return node;
}

const CodeHeaps::Heap& CodeHeaps::heap_of(const RangeSection& section) const {
  if (const auto known = heaps_.find(section.heap_list); known != heaps_.end()) return known->second;
  Heap heap{.node = read_node(section)};
  heap.map_bytes = ((heap.node.end - heap.node.map_base) / NibbleMap::unit_bytes + 1) * unit_size;
  MemoryReader& memory = target_->memory();
  heap.map = memory.view(target_->platform().wrap(heap.node.map), heap.map_bytes);
  heap.code = memory.view(heap.node.map_base, heap.node.end - heap.node.map_base);
  return heaps_.emplace(section.heap_list, heap).first->second;
}

HeapBlock CodeHeaps::block_starting_at(const Heap& heap, Address start) const {
  // The word before the code is the address of the header, or the kind of a stub.
  const unsigned width = target_->pointer_size();
  const Address at = start - width;
  const std::uint64_t offset = at - heap.node.map_base;
  std::uint64_t word = 0;
  if (offset < heap.code.size() && heap.code.size() - offset >= width) {
    const auto bytes = heap.code.subspan(static_cast<std::size_t>(offset));
    const ByteOrder order = target_->platform().byte_order;
    word = width == 8 ? load<std::uint64_t>(bytes, order) : load<std::uint32_t>(bytes, order);
  } else {
    word = target_->read_pointer_beside_code(at);
  }
  if (word == 0) return {.start = start, .header = 0, .stub = {}};
  if (word <= last_stub_kind_) return {.start = start, .header = 0, .stub = stub_kind_of(*target_, word)};
  return {.start = start, .header = word, .stub = {}};
}

CodeHeaps::Found CodeHeaps::block_at(const RangeSection& section, Address pc) const {
  const Heap& heap = heap_of(section);
  const Node& node = heap.node;
  if (pc < node.start) return {{}, "in a code heap, before its first block"};
  // The end is inclusive: it is the current end of the used part, and the map keeps a guard behind it.
  if (pc > node.end) return {{}, "in the unused part of a code heap"};
  const auto start =
      NibbleMap(*target_, version_, node.map_base, node.map, empty_pages_, heap.map).find_start(pc);
  if (!start) return {{}, "in a code heap, with no method start before the address"};
  return {block_starting_at(heap, *start), {}};
}

std::optional<Address> CodeHeaps::start_at(const RangeSection& section, Address pc) const {
  const Heap& heap = heap_of(section);
  const Node& node = heap.node;
  if (pc < node.start || pc > node.end) return std::nullopt;
  return NibbleMap(*target_, version_, node.map_base, node.map, empty_pages_, heap.map).find_start(pc);
}

std::uint64_t CodeHeaps::fingerprint(const RangeSection& section) const {
  const Node node = read_node(section); // as it is now
  const std::uint64_t map_bytes = ((node.end - node.map_base) / NibbleMap::unit_bytes + 1) * unit_size;
  std::uint64_t value = node.end;
  std::vector<std::byte> raw;
  for (std::uint64_t done = 0; done < map_bytes; done += raw.size()) {
    raw.resize(static_cast<std::size_t>(std::min(map_bytes - done, bytes_per_read)));
    target_->read_bytes(node.map + done, raw);
    const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
    constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
    value = (value ^ std::hash<std::string_view>()(text)) * spread;
  }
  return value;
}

bool CodeHeaps::for_each_start(const Heap& heap, std::span<const std::byte> units, Address unit_start,
                               const std::function<bool(const HeapBlock&)>& visit,
                               const std::function<void(Address, const std::string&)>& hole, WalkLimit& limit,
                               std::optional<Address>& stub) const {
  const auto spent = [&](Address at) {
    if (limit.take()) return false;
    hole(at, fmt::format("more code than {} blocks: the rest is left out", WalkLimit::max_blocks));
    return true;
  };
  bool damage_told = false; // of this page of the map
  for (std::size_t i = 0; i < units.size(); i += unit_size, unit_start += NibbleMap::unit_bytes) {
    if (i % page_size == 0) {
      if (spent(unit_start)) return false;
      damage_told = false;
    }
    const auto unit = load<std::uint32_t>(units.subspan(i), target_->platform().byte_order);
    // A unit that a stub covers as a whole points back to its start.
    const bool elsewhere =
        stub && NibbleMap::is_pointer(unit) && heap.node.map_base + NibbleMap::decode_pointer(unit) != *stub;
    const bool valid = NibbleMap::is_valid(unit) && !elsewhere;
    if (!valid && !std::exchange(damage_told, true))
      hole(unit_start, fmt::format("nibble map unit {:#x}", unit));
    // A stub's length stands nowhere. Version 2 marks each unit that a block covers as a whole, so that it
    // reaches into the first unmarked one at most; into a damaged one nothing is believed to reach.
    if (stub && (!valid || (unit == 0 && version_ == NibbleMapVersion::constant_time))) {
      const Address end = valid ? unit_start + NibbleMap::unit_bytes : unit_start;
      const Address least = least_end(*std::exchange(stub, std::nullopt), unit_start);
      if (!visit({.start = end, .header = 0, .stub = {}, .least_end = least})) return false;
    }
    if (unit == 0 || !valid || NibbleMap::is_pointer(unit)) continue;
    for (std::uint64_t bucket = 0; bucket < NibbleMap::buckets_per_unit; ++bucket) {
      const std::uint32_t nibble = unit >> (28 - 4 * bucket) & 15;
      if (nibble == 0) continue;
      const Address start = unit_start + bucket * NibbleMap::bucket_bytes + 4 * (nibble - 1);
      if (spent(start)) return false;
      try {
        const HeapBlock block = block_starting_at(heap, start);
        stub = block.stub ? std::optional(start) : std::nullopt;
        if (!visit(block)) return false;
      } catch (const Error& error) {
        hole(error.address().value_or(start), error.what());
      }
    }
  }
  return true;
}

bool CodeHeaps::for_each_block(const RangeSection& section,
                               const std::function<bool(const HeapBlock&)>& visit,
                               const std::function<void(Address, const std::string&)>& hole,
                               WalkLimit& limit) const {
  const Heap& heap = heap_of(section);
  const Node& node = heap.node;
  std::optional<Address> stub; // that is open
  if (!heap.map.empty()) return for_each_start(heap, heap.map, node.map_base, visit, hole, limit, stub);
  std::vector<std::byte> raw;
  for (std::uint64_t done = 0; done < heap.map_bytes;) {
    raw.resize(static_cast<std::size_t>(std::min(heap.map_bytes - done, bytes_per_read)));
    const Address at = target_->platform().wrap(node.map + done);
    const std::size_t got = target_->memory().read_some(at, raw) / unit_size * unit_size;
    const Address unit_start = node.map_base + done / unit_size * NibbleMap::unit_bytes;
    if (!for_each_start(heap, std::span(raw).first(got), unit_start, visit, hole, limit, stub)) return false;
    done += got;
    if (got == raw.size()) continue;
    hole(node.map + done, "a part of a nibble map is missing");
    if (stub) {
      const Address end = unit_start + got / unit_size * NibbleMap::unit_bytes;
      const Address least = least_end(*std::exchange(stub, std::nullopt), end);
      if (!visit({.start = end, .header = 0, .stub = {}, .least_end = least})) return false;
    }
    if (!limit.take()) return false;
    // Continue at the next page.
    done +=
        std::max<std::uint64_t>(page_size - (node.map + done) % page_size, unit_size) / unit_size * unit_size;
  }
  return true;
}

} // namespace clr
