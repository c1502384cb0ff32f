#include "tests/support/execution_builder.h"

#include "tests/support/bit_writer.h"

#include <algorithm>
#include <array>

namespace clr::test {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Bytes native_unsigned(std::uint32_t value) {
  if (value < 1u << 7) return {std::byte(value << 1)};
  if (value < 1u << 14) {
    const std::uint32_t coded = value << 2 | 1;
    return {std::byte(coded & 0xFF), std::byte(coded >> 8)};
  }
  const std::uint32_t coded = value << 3 | 3;
  return {std::byte(coded & 0xFF), std::byte(coded >> 8 & 0xFF), std::byte(coded >> 16)};
}

using Elements = std::map<std::uint32_t, std::vector<unsigned>>;

Bytes content_of(const std::vector<unsigned>& values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(std::byte(value));
  return bytes;
}

// The tree of one block of 16, for the elements that agree in the bits above `bit`.
Bytes native_tree(const Elements& elements, std::uint32_t bit) {
  if (bit == 0) return content_of(elements.begin()->second);
  if (elements.size() == 1) {
    Bytes leaf = native_unsigned((elements.begin()->first & 15) << 2);
    append(leaf, content_of(elements.begin()->second));
    return leaf;
  }
  Elements left, right;
  for (const auto& [index, content] : elements) (index & bit ? right : left).emplace(index, content);
  const Bytes first = left.empty() ? Bytes{} : native_tree(left, bit >> 1);
  if (right.empty()) {
    Bytes node = native_unsigned(1);
    append(node, first);
    return node;
  }
  Bytes head;
  for (std::size_t size = 1;; ++size) {
    head =
        native_unsigned(static_cast<std::uint32_t>((size + first.size()) << 2 | 2 | (left.empty() ? 0 : 1)));
    if (head.size() == size) break;
  }
  append(head, first);
  append(head, native_tree(right, bit >> 1));
  return head;
}

bool is_wide(const Platform& platform) {
  return platform.pointer_size == 8;
}

constexpr Address unwind_data_bytes = 12; // of CPUs whose unwind data are words

} // namespace

std::vector<Platform> execution_platforms() {
  std::vector<Platform> platforms = all_platforms();
  for (Platform& platform : platforms) platform.cpu = is_wide(platform) ? Cpu::x64 : Cpu::x86;
  return platforms;
}

std::vector<std::byte> gc_info_bytes(Cpu cpu, unsigned version, std::uint64_t length, bool fat) {
  if (cpu == Cpu::x86) {
    Bytes bytes{std::byte(length & 0x7F)};
    for (length >>= 7; length != 0; length >>= 7)
      bytes.insert(bytes.begin(), std::byte(0x80 | (length & 0x7F)));
    return bytes;
  }
  BitWriter bits;
  const bool arm = cpu == Cpu::arm;
  bits.put(fat ? 1 : 0, 1);
  bits.put(0, fat ? 10 : 1);
  if (version <= 3) bits.put(1, !fat || arm ? 2 : 4);
  bits.variable(cpu == Cpu::x64 ? length : length / (arm ? 2 : 4), arm ? 7 : 8);
  bits.put(0x2A, 32); // what follows
  return bits.bytes();
}

std::vector<std::byte> native_array_bytes(std::uint32_t count, const Elements& elements) {
  const std::uint32_t blocks = (count + 15) / 16;
  Bytes result = native_unsigned(count << 2 | 1); // block index of 16 bits
  const std::size_t base = result.size();
  result.resize(base + blocks * 2);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    Elements own;
    for (const auto& [index, content] : elements)
      if (index / 16 == block) own.emplace(index, content);
    const std::size_t offset = result.size() - base;
    result[base + block * 2] = std::byte(offset & 0xFF);
    result[base + block * 2 + 1] = std::byte(offset >> 8);
    append(result, own.empty() ? native_unsigned(0x40 << 2) : native_tree(own, 8));
  }
  return result;
}

NibbleMapWriter::NibbleMapWriter(MemoryBuilder& memory, unsigned version, Address map_base,
                                 std::uint64_t code_size)
    : memory_(&memory), version_(version), map_base_(map_base),
      units_(memory.allocate((code_size / 256 + 2) * 4)) {}

void NibbleMapWriter::set(std::uint64_t unit, std::uint32_t value) {
  values_[unit] = value;
  memory_->write_integer(units_ + unit * 4, value, 4);
}

void NibbleMapWriter::add(Address start, std::uint64_t size) {
  const std::uint64_t delta = start - map_base_;
  const std::uint64_t unit = delta / 256;
  const auto nibble = static_cast<std::uint32_t>(delta % 32 / 4 + 1);
  set(unit, values_[unit] | nibble << (28 - 4 * (delta / 32 % 8)));
  if (version_ == 1) return;
  for (std::uint64_t covered = unit + 1; (covered + 1) * 256 <= delta + size; ++covered)
    set(covered, static_cast<std::uint32_t>((delta & ~15u) + ((delta & 15) >> 2) + 9));
}

ExecutionBuilder::ExecutionBuilder(Platform platform, unsigned version)
    : target_(platform), version_(version) {
  target_.contract("ExecutionManager", version);
  target_.type("RangeSectionMap", {{"TopLevelData", Width::bytes, 256u * platform.pointer_size}})
      .type("RangeSectionFragment", {{"Next"}, {"RangeBegin"}, {"RangeEndOpen"}, {"RangeSection"}})
      .type("RangeSection", {{"RangeBegin"},
                             {"RangeEndOpen"},
                             {"Flags", Width::u32},
                             {"JitManager"},
                             {"R2RModule"},
                             {"HeapList"},
                             {"RangeList"},
                             {"NextForDelete"}})
      .type("CodeHeapListNode", {{"Next"}, {"StartAddress"}, {"EndAddress"}, {"MapBase"}, {"HeaderMap"}})
      .type("RealCodeHeader",
            {{"DebugInfo"},
             {"EHInfo"},
             {"GCInfo"},
             {"MethodDesc"},
             {"NumUnwindInfos", Width::u32},
             {"UnwindInfos", Width::bytes}},
            0)
      .type("Module", {{"ReadyToRunInfo", Width::pointer, 0, 40}})
      .type("ReadyToRunInfo", {{"ReadyToRunHeader"},
                               {"CompositeInfo"},
                               {"RuntimeFunctions"},
                               {"NumRuntimeFunctions", Width::u32},
                               {"HotColdMap"},
                               {"NumHotColdMap", Width::u32},
                               {"DelayLoadMethodCallThunks"},
                               {"EntryPointToMethodDescMap", Width::bytes, 4u * platform.pointer_size}})
      .type("ReadyToRunHeader", {{"MajorVersion", Width::u16, 0, 4}, {"MinorVersion", Width::u16, 0, 6}}, 0)
      .type("ImageDataDirectory", {{"VirtualAddress", Width::u32}, {"Size", Width::u32}}, 8)
      .type("HashMap", {{"Buckets", Width::pointer, 0, 2 * platform.pointer_size}})
      .type("Bucket", {{"Keys", Width::bytes, 4u * platform.pointer_size},
                       {"Values", Width::bytes, 4u * platform.pointer_size}});
  const bool has_end = platform.cpu == Cpu::x64;
  if (has_end)
    target_.type("RuntimeFunction",
                 {{"BeginAddress", Width::u32, 0, 0},
                  {"EndAddress", Width::u32, 0, 4},
                  {"UnwindData", Width::u32, 0, 8}},
                 12);
  else
    target_.type("RuntimeFunction", {{"BeginAddress", Width::u32, 0, 0}, {"UnwindData", Width::u32, 0, 4}},
                 8);
  if (platform.cpu == Cpu::x86) target_.type("UnwindInfo", {{"FunctionLength", Width::u32, 0, 0}}, 0);
  target_.global("StubCodeBlockLast", 0xF, "uint8")
      .global("HashMapSlotsPerBucket", 4, "uint32")
      .global("HashMapValueMask", platform.wrap(~Address{0}) >> 1, "uint64")
      .global("GCInfoVersion", 4, "uint32");
  const Address map = target_.record("RangeSectionMap");
  top_ = map;
  target_.pointer_global("ExecutionManagerCodeRangeMapAddress", map);
}

Address ExecutionBuilder::slot_of(Address address) {
  const unsigned word = memory().platform().pointer_size;
  const bool wide = is_wide(memory().platform());
  const std::vector<unsigned> shifts =
      wide ? std::vector<unsigned>{49, 41, 33, 25, 17} : std::vector<unsigned>{24, 16};
  Address table = top_;
  for (std::size_t i = 0;; ++i) {
    const Address slot = table + (address >> shifts[i] & 255) * word;
    if (i + 1 == shifts.size()) return slot;
    std::array<std::byte, 8> raw{};
    memory().read(slot, std::span(raw).first(word));
    const ByteOrder order = memory().platform().byte_order;
    Address next = wide ? load<std::uint64_t>(raw, order) : load<std::uint32_t>(raw, order);
    if (next == 0) {
      next = memory().allocate(256u * word);
      // The tag of what is collectible may stand in any slot.
      memory().at(slot).pointer(next | 1);
    }
    table = next & ~Address{1};
  }
}

Address ExecutionBuilder::fragment(Address section, Address begin, Address end, Address next) {
  return target_.record(
      "RangeSectionFragment",
      {{"Next", next}, {"RangeBegin", begin}, {"RangeEndOpen", end}, {"RangeSection", section}});
}

Address ExecutionBuilder::section(const SectionSpec& spec) {
  const Address section = target_.record("RangeSection", {{"RangeBegin", spec.begin},
                                                          {"RangeEndOpen", spec.end},
                                                          {"Flags", spec.flags},
                                                          {"JitManager", 0x000b'ff00},
                                                          {"R2RModule", spec.r2r_module},
                                                          {"HeapList", spec.heap},
                                                          {"RangeList", spec.range_list},
                                                          {"NextForDelete", spec.next_for_delete}});
  const unsigned leaf = is_wide(memory().platform()) ? 17 : 16;
  for (Address chunk = spec.begin >> leaf; chunk <= (spec.end - 1) >> leaf; ++chunk) {
    const Address slot = slot_of(chunk << leaf);
    std::array<std::byte, 8> raw{};
    memory().read(slot, std::span(raw).first(memory().platform().pointer_size));
    const ByteOrder order = memory().platform().byte_order;
    const Address next =
        is_wide(memory().platform()) ? load<std::uint64_t>(raw, order) : load<std::uint32_t>(raw, order);
    memory().at(slot).pointer(fragment(section, spec.begin, spec.end, next));
  }
  return section;
}

ExecutionBuilder::Heap ExecutionBuilder::heap(Address begin, Address end, std::uint32_t flags) {
  const Address map_base = begin & ~Address{0xFFF};
  Heap heap{.begin = begin,
            .map = std::make_shared<NibbleMapWriter>(memory(), version_, map_base, end - map_base)};
  heap.node = target_.record("CodeHeapListNode", {{"StartAddress", begin},
                                                  {"EndAddress", end},
                                                  {"MapBase", map_base},
                                                  {"HeaderMap", heap.map->units()}});
  heap.section = section({.begin = begin, .end = end, .flags = flags, .heap = heap.node});
  return heap;
}

// Unwind data with its GC info behind it, at `at` if that is not 0.
Address ExecutionBuilder::unwind_data(std::uint32_t length, std::uint32_t method_length, bool chained,
                                      Address at) {
  const Cpu cpu = memory().platform().cpu;
  const std::vector<std::byte> gc_info =
      method_length != 0 ? gc_info_bytes(cpu, 4, method_length) : std::vector<std::byte>{};
  if (at == 0) at = memory().allocate(32 + gc_info.size(), 4);
  MemoryCursor cursor = memory().at(at);
  if (cpu == Cpu::x64) {
    cursor.u8(1 | (chained ? 4 : 3) << 3).u8(4).u8(3).u8(0); // three unwind codes
    cursor.fill(6, 0x02).u32(0x7777);
    cursor.fill(2);
  } else if (cpu == Cpu::x86) {
    cursor.u32(length);
  } else {
    // The epilogue is told in the header; a word of codes that ends at once; a handler: unwind_data_bytes.
    const bool arm = cpu == Cpu::arm;
    cursor.u32((length / (arm ? 2 : 4)) | 1u << (arm ? 28 : 27) | 1u << 21).u32(0xE3E3'E3E4).u32(0x7777);
  }
  cursor.bytes(gc_info);
  return at;
}

Address ExecutionBuilder::method(Heap& heap, const MethodSpec& spec) {
  heap.map->add(spec.start, spec.size);
  std::vector<std::uint32_t> begins{0};
  begins.insert(begins.end(), spec.funclets.begin(), spec.funclets.end());
  const std::uint64_t stride = target_.size_of("RuntimeFunction");
  const Address header = target_.record(
      "RealCodeHeader",
      {{"MethodDesc", spec.method_desc},
       {"GCInfo", spec.gc_info ? memory().place(gc_info_bytes(memory().platform().cpu, 4, spec.size)) : 0},
       {"DebugInfo", spec.debug_info},
       {"NumUnwindInfos", begins.size()}},
      begins.size() * stride + 16);
  const Address table = header + static_cast<Address>(target_.offset("RealCodeHeader", "UnwindInfos"));
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t end = i + 1 < begins.size() ? begins[i + 1] : spec.size;
    const auto begin = static_cast<std::uint32_t>(spec.start - heap.begin) + begins[i];
    const auto length = static_cast<std::uint32_t>(end - begins[i]);
    // An RVA leads forward: behind the code. x64 has the end in the entry, and 32 bits reach everything.
    const bool behind = stride == 8 && is_wide(memory().platform());
    const Address at = behind ? (spec.start + spec.size + 3) / 4 * 4 + i * unwind_data_bytes : 0;
    const auto data = static_cast<std::uint32_t>(unwind_data(length, 0, false, at) - heap.begin);
    MemoryCursor entry = memory().at(table + i * stride);
    entry.u32(begin);
    if (stride == 12) entry.u32(begin + length);
    entry.u32(data);
  }
  memory().at(spec.start - memory().platform().pointer_size).pointer(header);
  return header;
}

void ExecutionBuilder::stub(Heap& heap, Address start, std::uint64_t size, Address kind) {
  heap.map->add(start, size);
  memory().at(start - memory().platform().pointer_size).pointer(kind);
}

void ExecutionBuilder::hash_map(Address address, const std::vector<std::pair<Address, Address>>& pairs,
                                bool shifted, std::optional<std::uint32_t> bucket_count) {
  const unsigned word = memory().platform().pointer_size;
  constexpr std::array<std::uint32_t, 16> primes{5,  11, 17,  23,  29,  37,  47,  59,
                                                 71, 89, 107, 131, 163, 197, 239, 353};
  std::uint32_t count = primes.back();
  for (const std::uint32_t prime : primes)
    if (prime > pairs.size() * 3 / 2) {
      count = prime;
      break;
    }
  if (bucket_count) count = *bucket_count;
  struct Bucket {
    std::array<Address, 4> keys{}, values{};
  };
  std::vector<Bucket> buckets(count);
  const Address top = Address{1} << (8 * word - 1);
  for (Bucket& bucket : buckets) bucket.values[1] = top; // has free slots
  for (const auto& [key, value] : pairs) {
    std::uint32_t seed = static_cast<std::uint32_t>(key >> 2);
    const std::uint32_t step = 1 + (static_cast<std::uint32_t>(key >> 5) + 1) % (count - 1);
    bool placed = false;
    for (int probe = 0; probe < 8 && !placed; ++probe, seed += step) {
      Bucket& bucket = buckets[seed % count];
      for (std::size_t slot = 0; slot < 4 && !placed; ++slot) {
        if (bucket.keys[slot] != 0) continue;
        bucket.keys[slot] = key;
        bucket.values[slot] = (bucket.values[slot] & top) | (shifted ? value >> 1 : value);
        placed = true;
      }
      if (placed) break;
      bucket.values[0] |= top; // overflowed
      bucket.values[1] &= ~top;
    }
  }
  const Address cells = memory().allocate((count + 1u) * 8u * word);
  memory().at(cells).pointer(count);
  MemoryCursor cursor = memory().at(cells + 8u * word);
  for (const Bucket& bucket : buckets) {
    for (const Address key : bucket.keys) cursor.pointer(key);
    for (const Address value : bucket.values) cursor.pointer(value);
  }
  memory().at(address + static_cast<Address>(target_.offset("HashMap", "Buckets"))).pointer(cells);
}

ExecutionBuilder::Image ExecutionBuilder::image(const ImageSpec& spec) {
  Image image;
  const std::uint64_t stride = target_.size_of("RuntimeFunction");
  const Address base = spec.begin;
  // Tables in the upper half of the image, unwind data behind them.
  Address at = base + (spec.end - spec.begin) / 2;
  image.table = at;
  Address data = at + (spec.functions.size() + 1) * stride;
  MemoryCursor entry = memory().at(at);
  for (const Function& function : spec.functions) {
    data = (data + 3) & ~Address{3};
    entry.u32(function.begin);
    if (stride == 12) entry.u32(function.begin + function.length);
    entry.u32(data - base);
    unwind_data(function.length, function.method_length, function.chained, data);
    data += 32;
  }
  entry.u32(0xFFFF'FFFF); // the sentinel

  std::vector<std::array<std::uint32_t, 3>> sections{{102, static_cast<std::uint32_t>(at - base), 1}};
  if (spec.debug_info) {
    std::map<std::uint32_t, std::vector<unsigned>> elements;
    for (const std::uint32_t index : *spec.debug_info) elements[index] = {0, 0x40 + index};
    for (const auto& [index, blob] : spec.debug_blobs) {
      elements[index] = {0};
      elements[index].insert(elements[index].end(), blob.begin(), blob.end());
    }
    const auto bytes = native_array_bytes(static_cast<std::uint32_t>(spec.functions.size()), elements);
    image.debug_info = (data + 15) & ~Address{15};
    memory().write(image.debug_info, bytes);
    data = image.debug_info + bytes.size();
    sections.push_back(
        {105, static_cast<std::uint32_t>(image.debug_info - base), static_cast<std::uint32_t>(bytes.size())});
  }
  image.header = (data + 15) & ~Address{15};
  MemoryCursor header = memory().at(image.header);
  header.u32(0x0052'5452).u16(spec.major).u16(0).u32(0).u32(sections.size());
  for (const auto& section : sections) header.u32(section[0]).u32(section[1]).u32(section[2]);

  Address thunks = 0;
  if (spec.thunks)
    thunks = target_.record("ImageDataDirectory",
                            {{"VirtualAddress", spec.thunks->first}, {"Size", spec.thunks->second}});
  Address hot_cold = 0;
  if (!spec.hot_cold.empty()) {
    hot_cold = memory().allocate(spec.hot_cold.size() * 4);
    MemoryCursor cursor = memory().at(hot_cold);
    for (const std::uint32_t value : spec.hot_cold) cursor.u32(value);
  }
  const FieldValues fields{{"ReadyToRunHeader", image.header},
                           {"RuntimeFunctions", spec.functions.empty() ? 0xDEAD'0000 : image.table},
                           {"NumRuntimeFunctions", spec.functions.size()},
                           {"HotColdMap", spec.hot_cold.empty() ? 0xDEAD'0000 : hot_cold},
                           {"NumHotColdMap", spec.hot_cold.size()},
                           {"DelayLoadMethodCallThunks", thunks}};
  image.info = target_.record("ReadyToRunInfo", fields);
  image.composite_info = spec.composite ? target_.record("ReadyToRunInfo", fields) : image.info;
  target_.set(image.info, "ReadyToRunInfo", "CompositeInfo", image.composite_info);
  // A component's own header lacks the tables of the image.
  if (spec.composite) {
    const Address own = memory().allocate(64);
    memory().at(own).u32(0x0052'5452).u16(spec.major).u16(0).u32(0x20).u32(0);
    target_.set(image.info, "ReadyToRunInfo", "ReadyToRunHeader", own);
  }
  std::vector<std::pair<Address, Address>> pairs;
  for (const auto& [rva, method] : spec.methods) pairs.emplace_back(base + rva, method);
  hash_map(image.composite_info +
               static_cast<Address>(target_.offset("ReadyToRunInfo", "EntryPointToMethodDescMap")),
           pairs);
  image.module = target_.record("Module", {{"ReadyToRunInfo", image.info}});
  image.section = section({.begin = spec.begin, .end = spec.end, .flags = 0, .r2r_module = image.module});
  return image;
}

Address ExecutionBuilder::platform_metadata(std::uint8_t flags) {
  target_.type("PlatformMetadata",
               {{"PrecodeMachineDescriptor", Width::bytes, 256}, {"CodePointerFlags", Width::u8}});
  const Address metadata = target_.record("PlatformMetadata", {{"CodePointerFlags", flags}});
  target_.pointer_global("PlatformMetadata", metadata);
  return metadata;
}

} // namespace clr::test
