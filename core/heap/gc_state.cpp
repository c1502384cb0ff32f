#include "core/heap/gc_state.h"

#include "core/heap/gc_contract.h"

#include "core/memory/elf_image.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

// Words of GcDacVars. Each is the address of a variable, unless it is a value.
enum Word : std::size_t {
  versions = 0,         // value: two bytes
  generation_size = 1,  // value
  generation_count = 2, // value
  build_variant = 3,
  generation_table = 6,
  max_generation = 7,
  background_state = 9,
  ephemeral_heap_segment = 10,
  alloc_allocated = 15,
  finalize_queue = 18,
  heap_count = 22, // 0, with the next one, of a workstation collector
  heaps = 23,
  structures_invalid = 24,
  handle_table_map = 29, // the object itself
  heap_fields = 30,
  generation_fields = 31,
  word_count = 36,
};

// Entries of the array of places of a heap's fields, and of a generation's.
constexpr std::size_t heap_alloc_allocated = 0, heap_ephemeral = 1, heap_finalize_queue = 2,
                      heap_generations = 18, heap_field_count = 19;
constexpr std::size_t generation_context = 0, generation_start_segment = 1, generation_start = 2,
                      generation_field_count = 3;
constexpr std::uint32_t least_generations = 4, most_generations = 8;
constexpr std::uint64_t largest_field_offset = 1 << 20;

using Words = std::array<Address, word_count>;

// Reads that may meet anything: an entry that leads nowhere is not the one that is looked for.
class Probe {
public:
  explicit Probe(const Target& target) : target_(&target) {}

  template<typename Read>
  auto operator()(const Read& read) const -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  std::optional<Address> pointer(Address at) const {
    return (*this)([&] { return target_->read_pointer(at); });
  }
  std::optional<std::uint32_t> u32(Address at) const {
    return (*this)([&] { return target_->read_u32(at); });
  }

private:
  const Target* target_;
};

std::vector<Address> words_at(const Target& target, Address at, std::size_t count) {
  const unsigned width = target.pointer_size();
  std::vector<std::byte> raw(count * width);
  target.read_bytes(at, raw);
  std::vector<Address> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = std::span(raw).subspan(i * width);
    words[i] = width == 8 ? load<std::uint64_t>(rest, target.platform().byte_order)
                          : load<std::uint32_t>(rest, target.platform().byte_order);
  }
  return words;
}

std::vector<Address> dac_table(const Target& target, Address runtime_base) {
  const auto symbol = ElfImage(target.memory(), runtime_base).find_symbol("g_dacTable");
  if (!symbol)
    throw Error(ErrorKind::unsupported_contract,
                "the runtime does not say where its heap is: it exports no g_dacTable");
  if (symbol->size > max_dac_table_bytes || symbol->size % target.pointer_size() != 0)
    throw_corrupt(symbol->address, fmt::format("g_dacTable of {} bytes", symbol->size));
  return words_at(target, symbol->address, symbol->size / target.pointer_size());
}

bool has_shape(const Target& target, Address at, const std::vector<Address>& read, Words& words) {
  const Probe probe(target);
  std::copy(read.begin(), read.end(), words.begin());
  const auto version = probe([&] { return std::pair(target.read_u8(at), target.read_u8(at + 1)); });
  if (!version || version->first < 1 || version->first > 7 || version->second >= 16) return false;
  const unsigned width = target.pointer_size();
  if (words[generation_size] % width != 0 || words[generation_size] < 16u * width ||
      words[generation_size] > 128u * width || words[generation_count] < least_generations ||
      words[generation_count] > most_generations)
    return false;
  for (const Word word :
       {build_variant, max_generation, structures_invalid, handle_table_map, generation_fields})
    if (words[word] == 0 || !probe.u32(words[word])) return false;
  return probe.u32(words[max_generation]) == 2u;
}

std::optional<std::uint64_t> field_offset(const Target& target, Address array, std::size_t entry) {
  const std::int32_t offset = target.read_i32(array + 4 * entry);
  if (offset == -1) return std::nullopt; // this collector has no such field
  if (offset < 0 || static_cast<std::uint64_t>(offset) > largest_field_offset)
    throw_corrupt(array + 4 * entry, fmt::format("a field of the collector at offset {}", offset));
  return static_cast<std::uint64_t>(offset);
}

std::uint64_t require_field(const Target& target, Address array, std::size_t entry, std::string_view what) {
  const auto offset = field_offset(target, array, entry);
  if (!offset)
    throw Error(ErrorKind::unsupported_contract, fmt::format("the collector does not say where {} is", what));
  return *offset;
}

// A segment's fields are words in this order. [rt] src/coreclr/gc/gcpriv.h, dac_heap_segment
void set_segment_layout(GcLayout& layout, unsigned width) {
  layout.allocated = 0;
  layout.committed = width;
  layout.reserved = 2 * width;
  layout.mem = 4 * width;
  layout.flags = 5 * width;
  layout.next = 6 * width;
  layout.segment_size = 9 * width;
}

Address variable(const Target& target, Address word) {
  return word == 0 ? 0 : target.read_pointer(word);
}

void add_server_heaps(const Target& target, const Words& words, GcState& state) {
  const std::uint32_t count = target.read_u32(words[heap_count]);
  const Address array = target.read_pointer(words[heaps]);
  if (count > max_gc_heaps) throw_corrupt(words[heap_count], fmt::format("{} heaps", count));
  const Address fields = words[heap_fields];
  const std::uint64_t generations = require_field(target, fields, heap_generations, "a heap's generations");
  const std::uint64_t ephemeral = require_field(target, fields, heap_ephemeral, "a heap's youngest segment");
  const std::uint64_t allocated =
      require_field(target, fields, heap_alloc_allocated, "the end of a heap's objects");
  const auto queue = field_offset(target, fields, heap_finalize_queue);
  for (std::uint32_t i = 0; i < count; ++i) {
    // One that cannot be read keeps its number.
    GcHeap& added = state.heaps.emplace_back();
    try {
      const Address heap = target.read_pointer(array + Address{i} * target.pointer_size());
      GcHeap read{.generations = heap + generations};
      read.ephemeral_segment = target.read_pointer(heap + ephemeral);
      read.alloc_allocated = target.read_pointer(heap + allocated);
      if (queue) read.finalize_queue = target.read_pointer(heap + *queue);
      added = read;
    } catch (const Error& error) {
      add_problem(state.problems, fmt::format("heap {}: {}", i, error.what()));
    }
  }
}

} // namespace

void add_problem(std::vector<std::string>& problems, std::string text) {
  if (problems.size() < max_heap_problems) problems.push_back(std::move(text));
}

GcState read_gc_state(const Target& target, Address runtime_base) {
  if (target.descriptor().version != descriptor_format_integers) return read_gc_contract(target);
  Words words{};
  Address variables = 0;
  const Probe probe(target);
  bool missing = false;
  for (const Address slot : dac_table(target, runtime_base)) {
    const auto at = slot == 0 ? std::nullopt : probe.pointer(slot);
    if (!at || *at == 0) continue;
    const auto read = probe([&] { return words_at(target, *at, word_count); });
    if (!read && !probe.pointer(*at)) missing = true;
    if (!read || !has_shape(target, *at, *read, words)) continue;
    variables = *at;
    break;
  }
  if (variables == 0 && missing)
    throw Error(ErrorKind::memory_missing,
                "the managed heap is not to be found: the memory that says where it is is not there");
  if (variables == 0)
    throw Error(ErrorKind::unsupported_contract,
                "there is no managed heap: the garbage collector has not been initialised");
  GcState state{.variables = variables};
  state.generation_count = static_cast<std::uint32_t>(words[generation_count]);
  state.layout.generation_size = static_cast<std::uint32_t>(words[generation_size]);
  const Address fields = words[generation_fields];
  state.layout.allocation_context =
      require_field(target, fields, generation_context, "a generation's allocation context");
  state.layout.start_segment =
      require_field(target, fields, generation_start_segment, "a generation's first segment");
  state.layout.allocation_start = field_offset(target, fields, generation_start);
  set_segment_layout(state.layout, target.pointer_size());
  state.structures_invalid = target.read_i32(words[structures_invalid]);
  if (const auto background =
          words[background_state] == 0 ? std::nullopt : probe.u32(words[background_state]))
    state.background = *background == 0   ? BackgroundGc::marking
                       : *background == 1 ? BackgroundGc::sweeping
                                          : BackgroundGc::none;
  state.handle_table_map = words[handle_table_map];
  state.server = words[heap_count] != 0 && words[heaps] != 0;
  if (state.server)
    add_server_heaps(target, words, state);
  else
    state.heaps.push_back({.generations = words[generation_table],
                           .ephemeral_segment = variable(target, words[ephemeral_heap_segment]),
                           .alloc_allocated = variable(target, words[alloc_allocated]),
                           .finalize_queue = variable(target, words[finalize_queue])});
  return state;
}

Address free_object_method_table(const Target& target, Address runtime_base) {
  const Probe probe(target);
  if (const auto global = target.find_global("FreeObjectMethodTable"))
    if (const auto table = probe.pointer(*global); table && *table != 0) return *table;
  const auto flags_offset = static_cast<Address>(target.offset("MethodTable", "MTFlags")),
             size_offset = static_cast<Address>(target.offset("MethodTable", "BaseSize")),
             parent_offset = static_cast<Address>(target.offset("MethodTable", "ParentMethodTable"));
  for (const Address slot : dac_table(target, runtime_base)) {
    const auto table = slot == 0 ? std::nullopt : probe.pointer(slot);
    if (!table || *table == 0) continue;
    // An array of bytes of the smallest size, without a parent: no other type is like that.
    const auto flags = probe.u32(*table + flags_offset);
    if (flags && (*flags & 0x8000'ffff) == 0x8000'0001 &&
        probe.u32(*table + size_offset) == 3 * target.pointer_size() &&
        probe.pointer(*table + parent_offset) == Address{0})
      return *table;
  }
  throw Error(ErrorKind::unsupported_contract,
              "free memory in the heap cannot be told from objects: its type is not to be found");
}

} // namespace clr
