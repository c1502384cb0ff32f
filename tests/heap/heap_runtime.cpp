#include "tests/heap/heap_runtime.h"

#include "tests/support/elf_module_builder.h"

#include <algorithm>

namespace clr::test {
namespace {

// Bytes from the start of a server's heap, on a 64-bit target.
constexpr std::size_t heap_allocated = 16, heap_ephemeral = 24, heap_queue = 40, heap_table = 256,
                      heap_size = 2048;
constexpr std::size_t context_place = 0, start_segment_place = 56, allocation_start_place = 64;

} // namespace

HeapRuntime::HeapRuntime(Platform platform, bool regions, unsigned server_heaps)
    : t(platform), memory(t.memory()), word(platform.pointer_size) {
  t.type("Object", {{"m_pMethTab"}});
  t.type("MethodTable", {{"MTFlags", Width::u32},
                         {"BaseSize", Width::u32},
                         {"MTFlags2", Width::u32},
                         {"ParentMethodTable"},
                         {"Module"},
                         {"AuxiliaryData"}});
  t.type("GCAllocContext", {{"Pointer"}, {"Limit"}});
  t.type("EEAllocContext", {{"CombinedLimit"}, {"GCAllocationContext", Width::bytes, std::size_t{2} * word}});
  t.type("RuntimeThreadLocals", {{"Other"}, {"AllocContext", Width::bytes, std::size_t{3} * word}});
  t.type("Thread", {{"State", Width::u32}, {"RuntimeThreadLocals"}, {"LinkNext"}});
  t.type("ThreadStore", {{"Count", Width::u32}, {"FirstThreadLink"}});
  t.global("ObjectToMethodTableUnmask", word == 8 ? 7 : 3, "uint8");
  free_type = type(3 * word, 1);
  t.variable("FreeObjectMethodTable", free_type);
  store_ = t.record("ThreadStore");
  t.variable("ThreadStore", store_);
  link_ = store_ + static_cast<Address>(t.offset("ThreadStore", "FirstThreadLink"));

  const auto number = [&](std::uint64_t value) {
    const Address at = memory.allocate(4);
    memory.write_integer(at, value, 4);
    return at;
  };
  const auto pointer = [&](Address value) {
    const Address at = memory.allocate(word);
    set_word(at, value);
    return at;
  };
  const std::size_t stride = place(256);
  words_[1] = stride;
  words_[2] = 5;
  words_[3] = number(regions ? 1 : 0);
  words_[7] = number(2);
  words_[9] = number(2);
  words_[24] = number(0);
  words_[29] = memory.allocate(64);
  words_[31] = memory.allocate(12);
  memory.at(words_[31]).u32(context_place).u32(place(start_segment_place));
  memory.write_integer(words_[31] + 8, regions ? 0xffff'ffff : place(allocation_start_place), 4);
  if (server_heaps == 0) {
    tables_.push_back(memory.allocate(5 * stride));
    words_[6] = tables_.back();
    words_[10] = ephemeral_ = pointer(0);
    words_[15] = alloc_allocated_ = pointer(0);
    words_[18] = queue_variable_ = pointer(0);
  } else {
    words_[22] = number(server_heaps);
    const Address array = heaps_array_ = memory.allocate(std::size_t{server_heaps} * word);
    words_[23] = pointer(array);
    words_[30] = memory.allocate(19 * 4);
    for (unsigned i = 0; i < 19; ++i) memory.write_integer(words_[30] + 4 * i, 0xffff'ffff, 4);
    memory.write_integer(words_[30], place(heap_allocated), 4);
    memory.write_integer(words_[30] + 4, place(heap_ephemeral), 4);
    memory.write_integer(words_[30] + 8, place(heap_queue), 4);
    memory.write_integer(words_[30] + 4 * 18, place(heap_table), 4);
    for (unsigned i = 0; i < server_heaps; ++i) {
      heaps_.push_back(memory.allocate(place(heap_size)));
      set_word(array + Address{i} * word, heaps_.back());
      tables_.push_back(heaps_.back() + place(heap_table));
    }
  }
  variables = memory.allocate(36 * word);
  for (std::size_t i = 0; i < words_.size(); ++i) set_word(variables + i * word, words_[i]);
  memory.at(variables).u8(2).u8(4);

  // A table of variables: two that lead elsewhere, and the collector's.
  ElfModuleBuilder elf{.platform = platform};
  elf.symbols = {{"g_dacTable", ElfModuleBuilder::data}};
  memory.write(module, elf.loaded(module, true));
  const Address table = module + ElfModuleBuilder::data;
  for (unsigned i = 0; i < 40 / word; ++i) set_word(table + Address{i} * word, 0);
  variables_slot = pointer(variables);
  set_word(table, pointer(0));
  set_word(table + word, pointer(memory.allocate(36 * word)));
  set_word(table + 2 * word, variables_slot);
  set_word(table + 3 * word, pointer(free_type));
}

Address HeapRuntime::type(std::uint32_t base_size, std::uint32_t component_size, std::uint32_t flags) {
  if (component_size != 0) flags |= 0x8000'0000 | component_size;
  return t.record("MethodTable", {{"MTFlags", flags}, {"BaseSize", base_size}}, 64);
}

Address HeapRuntime::type_with(std::uint32_t base_size, const std::vector<Series>& series,
                               std::uint32_t flags) {
  // The runs lie before the MethodTable: their number next to it, then bytes less the base size, and offset.
  const Address room = memory.allocate((2 * series.size() + 1) * word + 64 + 32, 8);
  const Address table = room + (2 * series.size() + 1) * word;
  t.record_at(table, "MethodTable", {{"MTFlags", flags | 0x0100'0000}, {"BaseSize", base_size}});
  set_word(table - word, series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    set_word(table - word - (2 * i + 2) * word, series[i].bytes - base_size);
    set_word(table - word - (2 * i + 1) * word, series[i].offset);
  }
  return table;
}

Address HeapRuntime::array_of_references() {
  // The run is as long as the data: the object's size without what an empty one has.
  const Address table = type_with(3 * word, {{2 * std::uint64_t{word}, 0}}, 0x8000'0000 | word);
  return table;
}

Address HeapRuntime::array_of_values(std::uint32_t size, std::uint64_t first,
                                     const std::vector<std::pair<unsigned, unsigned>>& items) {
  const Address room = memory.allocate((items.size() + 2) * word + 64 + 32, 8);
  const Address table = room + (items.size() + 2) * word;
  t.record_at(table, "MethodTable", {{"MTFlags", 0x8100'0000 | size}, {"BaseSize", 3 * word}});
  set_word(table - word, 0 - Address{items.size()});
  set_word(table - 2 * word, 2 * word + first);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Address at = table - (3 + i) * word;
    memory.write_integer(at, items[i].first, word / 2);
    memory.write_integer(at + word / 2, items[i].second, word / 2);
  }
  return table;
}

Address HeapRuntime::handle(unsigned kind, Address object, Address dependent) {
  constexpr std::size_t kinds = 13, list = 56, next = 1920 + 6 * kinds;
  if (handle_table_ == 0) {
    const Address map = words_[29], buckets = memory.allocate(80), bucket = memory.allocate(16),
                  tables = memory.allocate(32);
    handle_table_ = memory.allocate(64);
    handle_segment_ = memory.allocate(65536, 65536);
    memory.at(handle_segment_ + 1560).fill(240, 0xff);
    set_word(handle_segment_ + next + 8, handle_table_);
    set_word(handle_table_ + list, handle_segment_);
    set_word(tables, handle_table_);
    set_word(bucket, tables);
    set_word(buckets, bucket);
    set_word(map, buckets);
    memory.write_integer(map + 16, 10, 4);
  }
  const auto block_of = [&](unsigned wanted) {
    for (std::size_t i = 0; i < handle_blocks_.size(); ++i)
      if (handle_blocks_[i] == wanted) return i;
    handle_blocks_.push_back(wanted);
    handle_counts_.push_back(0);
    memory.write_integer(handle_segment_ + 1560 + handle_blocks_.size() - 1, wanted, 1);
    return handle_blocks_.size() - 1;
  };
  const auto place = [&](std::size_t block, std::size_t i) {
    return handle_segment_ + 4096 + (block * 64 + i) * 8;
  };
  const std::size_t block = block_of(kind), i = handle_counts_[block]++;
  set_word(place(block, i), object);
  if (dependent != 0) {
    const std::size_t other = block_of(kinds - 1);
    memory.write_integer(handle_segment_ + 1680 + block, other, 1);
    set_word(place(other, i), dependent);
  }
  return place(block, i);
}

Address HeapRuntime::finalizer_queue(unsigned heap, const std::array<std::vector<Address>, 7>& parts) {
  std::size_t count = 0;
  for (const auto& part : parts) count += part.size();
  const Address array = memory.allocate((count + 10) * word), queue = memory.allocate(16 * std::size_t{word});
  Address at = array;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Address object : parts[i]) {
      set_word(at, object);
      at += word;
    }
    set_word(queue + i * word, at);
  }
  set_word(queue + 7 * word, array);
  set_word(queue + 8 * word, array + (count + 10) * word);
  set_word(heaps_.empty() ? queue_variable_ : heaps_.at(heap) + place(heap_queue), queue);
  return queue;
}

Address HeapRuntime::generation(unsigned heap, unsigned number) const {
  return tables_.at(heap) + number * place(256);
}

Address HeapRuntime::segment(unsigned heap, unsigned number, Address begin, Address end,
                             std::uint64_t flags) {
  const Address list = generation(heap, number) + place(start_segment_place);
  const Address made = memory.allocate(std::size_t{9} * word);
  const Address reserved = begin / region_size * region_size + region_size;
  const Target view = target();
  const std::array<Address, 9> fields{
      end, reserved, reserved, reserved, begin, flags, view.read_pointer(list), 0, heap};
  for (std::size_t i = 0; i < fields.size(); ++i) set_word(made + i * word, fields[i]);
  set_word(list, made);
  return made;
}

void HeapRuntime::set_end(Address segment, Address end) {
  set_word(segment, end);
}

void HeapRuntime::set_ephemeral(unsigned heap, Address segment, Address end) {
  set_word(heaps_.empty() ? ephemeral_ : heaps_.at(heap) + place(heap_ephemeral), segment);
  set_word(heaps_.empty() ? alloc_allocated_ : heaps_.at(heap) + place(heap_allocated), end);
}

void HeapRuntime::set_generation_start(unsigned heap, unsigned number, Address at) {
  set_word(generation(heap, number) + place(allocation_start_place), at);
}

void HeapRuntime::context(unsigned heap, unsigned number, Address begin, Address end) {
  set_word(generation(heap, number) + context_place, begin);
  set_word(generation(heap, number) + context_place + word, end);
}

void HeapRuntime::thread_context(Address begin, Address end) {
  const Address locals = t.record("RuntimeThreadLocals");
  const Address at = locals + static_cast<Address>(t.offset("RuntimeThreadLocals", "AllocContext")) + word;
  set_word(at, begin);
  set_word(at + word, end);
  const Address thread = t.record("Thread", {{"RuntimeThreadLocals", locals}});
  const Address next = thread + static_cast<Address>(t.offset("Thread", "LinkNext"));
  set_word(link_, t.descriptor().version == descriptor_format_names ? thread : next);
  link_ = next;
}

Address HeapRuntime::object(Address at, Address method_table, std::uint32_t count, unsigned alignment) {
  const Target view = target();
  set_word(at, method_table);
  memory.write_integer(at + word, count, 4);
  const std::uint32_t flags =
      view.read_u32(method_table + static_cast<Address>(t.offset("MethodTable", "MTFlags")));
  std::uint64_t size =
      view.read_u32(method_table + static_cast<Address>(t.offset("MethodTable", "BaseSize")));
  if ((flags & 0x8000'0000) != 0) size += std::uint64_t{flags & 0xffff} * count;
  if (alignment == 0) alignment = word;
  size = std::max<std::uint64_t>(size, 3 * word);
  return at + (size + alignment - 1) / alignment * alignment;
}

void HeapRuntime::set_variable(std::size_t index, std::uint64_t value) {
  memory.write_integer(words_.at(index), value, 4);
}

void HeapRuntime::lose_heap(unsigned index) {
  set_word(heaps_array_ + Address{index} * word, 16);
}

Address HeapRuntime::fresh_region() {
  const Address begin = next_region_;
  next_region_ += region_size;
  memory.at(begin).fill(region_size);
  return begin + 5 * word;
}

} // namespace clr::test
