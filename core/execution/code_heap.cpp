#include "core/execution/code_heap.h"

#include "core/execution/stub_kind.h"

#include <fmt/format.h>

#include <vector>

namespace clr {
namespace {

// StubCodeBlockLast where the descriptor does not say.
constexpr std::uint64_t default_last_stub_kind = 0xF;
// Units of a nibble map read at once by an enumeration.
constexpr std::uint64_t units_per_read = 1024;

} // namespace

CodeHeaps::CodeHeaps(const Target& target, NibbleMapVersion version)
    : target_(&target), version_(version),
      start_(static_cast<Address>(target.offset("CodeHeapListNode", "StartAddress"))),
      end_(static_cast<Address>(target.offset("CodeHeapListNode", "EndAddress"))),
      map_base_(static_cast<Address>(target.offset("CodeHeapListNode", "MapBase"))),
      map_(static_cast<Address>(target.offset("CodeHeapListNode", "HeaderMap"))),
      last_stub_kind_(target.find_global("StubCodeBlockLast").value_or(default_last_stub_kind)) {}

CodeHeaps::Node CodeHeaps::read_node(Address address) const {
  if (address == 0) throw_corrupt(address, "a code heap section without a heap");
  const Node node{.start = target_->read_pointer(address + start_),
                  .end = target_->read_pointer(address + end_),
                  .map_base = target_->read_pointer(address + map_base_),
                  .map = target_->read_pointer(address + map_)};
  if (node.end < node.map_base || node.end - node.map_base > max_heap_bytes)
    throw_corrupt(address, fmt::format("code heap from {:#x} to {:#x}", node.map_base, node.end));
  return node;
}

HeapBlock CodeHeaps::block_starting_at(Address start) const {
  // The word before the code is the header's address, or the kind of a stub.
  const std::uint64_t word = target_->read_pointer(start - target_->pointer_size());
  if (word <= last_stub_kind_) return {.start = start, .header = 0, .stub = stub_kind_of(*target_, word)};
  return {.start = start, .header = word, .stub = {}};
}

std::optional<HeapBlock> CodeHeaps::block_at(const RangeSection& section, Address pc) const {
  const Node node = read_node(section.heap_list);
  // The end is inclusive: it is where the used part ends at present, and the map keeps a guard behind it.
  if (pc < node.start || pc > node.end) return std::nullopt;
  const auto start = NibbleMap(*target_, version_, node.map_base, node.map).find_start(pc);
  if (!start) return std::nullopt;
  return block_starting_at(*start);
}

bool CodeHeaps::for_each_block(const RangeSection& section,
                               const std::function<bool(const HeapBlock&)>& visit,
                               const std::function<void(Address, const std::string&)>& hole) const {
  const Node node = read_node(section.heap_list);
  const std::uint64_t unit_count = (node.end - node.map_base) / NibbleMap::unit_bytes + 1;
  std::vector<std::byte> raw;
  for (std::uint64_t first = 0; first < unit_count; first += units_per_read) {
    const std::uint64_t want = std::min(units_per_read, unit_count - first);
    raw.resize(want * 4);
    const std::size_t got = target_->memory().read_some(node.map + first * 4, raw) / 4;
    if (got < want) hole(node.map + (first + got) * 4, "a part of a nibble map");
    for (std::uint64_t i = 0; i < got; ++i) {
      const auto unit = load<std::uint32_t>(std::span(raw).subspan(i * 4), target_->platform().byte_order);
      if (unit == 0 || NibbleMap::is_pointer(unit)) continue;
      for (std::uint64_t bucket = 0; bucket < NibbleMap::buckets_per_unit; ++bucket) {
        const std::uint32_t nibble = unit >> (28 - 4 * bucket) & 15;
        if (nibble == 0 || nibble > 8) continue;
        const Address start = node.map_base + (first + i) * NibbleMap::unit_bytes +
                              bucket * NibbleMap::bucket_bytes + 4 * (nibble - 1);
        try {
          if (!visit(block_starting_at(start))) return false;
        } catch (const Error& error) {
          hole(error.address().value_or(start), error.what());
        }
      }
    }
  }
  return true;
}

} // namespace clr
