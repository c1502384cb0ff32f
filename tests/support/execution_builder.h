// A synthetic ExecutionManager: range section map, code heaps with nibble maps and jitted methods, ReadyToRun
// images. It follows the documents and does not use the product's code, so that the two check each other.
// 64-bit platforms are x64 and 32-bit ones x86 unless the platform says otherwise.
#pragma once

#include "core/execution/code_block.h"
#include "tests/support/target_builder.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace clr::test {

// {little, big} x {64, 32} with the CPU that the builder can write unwind data and GC info for.
std::vector<Platform> execution_platforms();

// The bits of a GC info header that ends with the code length.
std::vector<std::byte> gc_info_bytes(Cpu cpu, unsigned version, std::uint64_t length, bool fat = false);
// A NativeArray of those elements with their content.
std::vector<std::byte> native_array_bytes(std::uint32_t count,
                                          const std::map<std::uint32_t, std::vector<unsigned>>& elements);

// Units of a nibble map of either version.
class NibbleMapWriter {
public:
  NibbleMapWriter(MemoryBuilder& memory, unsigned version, Address map_base, std::uint64_t code_size);
  Address units() const { return units_; }
  void add(Address start, std::uint64_t size);

private:
  void set(std::uint64_t unit, std::uint32_t value);
  MemoryBuilder* memory_;
  unsigned version_;
  Address map_base_, units_;
  std::map<std::uint64_t, std::uint32_t> values_;
};

class ExecutionBuilder {
public:
  explicit ExecutionBuilder(Platform platform, unsigned version = 2);

  TargetBuilder& types() { return target_; }
  MemoryBuilder& memory() { return target_.memory(); }
  Target target() { return target_.target(); }
  Address top() const { return top_; } // the top table of the range map

  struct SectionSpec {
    Address begin = 0, end = 0;
    std::uint32_t flags = RangeSection::code_heap;
    Address heap = 0, r2r_module = 0, range_list = 0;
    Address next_for_delete = 0;
  };
  // The RangeSection, its fragments and the slots of the map. Returns the RangeSection.
  Address section(const SectionSpec& spec);
  // A fragment of `section` for [begin, end), with `next` as is.
  Address fragment(Address section, Address begin, Address end, Address next = 0);
  // The leaf slot of `address`; makes the tables that lead there.
  Address slot_of(Address address);

  struct Heap {
    Address section = 0, node = 0, begin = 0;
    std::shared_ptr<NibbleMapWriter> map;
  };
  // A code heap of [begin, end) with its range section.
  Heap heap(Address begin, Address end, std::uint32_t flags = RangeSection::code_heap);
  struct MethodSpec {
    Address start = 0;
    std::uint64_t size = 0;
    Address method_desc = 0;
    std::vector<std::uint32_t> funclets = {}; // their offsets
    bool gc_info = true;
    Address debug_info = 0;
  };
  // Returns the RealCodeHeader.
  Address method(Heap& heap, const MethodSpec& spec);
  // A stub block: the word before its code is its kind.
  void stub(Heap& heap, Address start, std::uint64_t size, Address kind);

  struct Function {
    std::uint32_t begin = 0, length = 0;
    std::uint32_t method_length = 0; // of the method that begins here, all parts; 0: none does
    bool chained = false;
  };
  struct ImageSpec {
    Address begin = 0, end = 0;
    std::vector<Function> functions;
    std::map<std::uint32_t, Address> methods;                           // by RVA
    std::vector<std::uint32_t> hot_cold = {};                           // {cold, hot}...
    std::optional<std::pair<std::uint32_t, std::uint32_t>> thunks = {}; // RVA, size
    std::optional<std::vector<std::uint32_t>> debug_info = {};          // indices that have some
    std::map<std::uint32_t, std::vector<unsigned>> debug_blobs = {};    // its bytes, where they matter
    std::uint16_t major = 16;
    bool composite = false;
  };
  struct Image {
    Address section = 0, module = 0, info = 0, composite_info = 0, table = 0, header = 0;
    Address debug_info = 0; // address of the array
  };
  Image image(const ImageSpec& spec);
  // A HashMap with those pairs at `address`.
  void hash_map(Address address, const std::vector<std::pair<Address, Address>>& pairs, bool shifted = true,
                std::optional<std::uint32_t> buckets = {});

  // PlatformMetadata with CodePointerFlags; the precode descriptor's fields are the test's affair.
  Address platform_metadata(std::uint8_t flags = 0);

private:
  Address unwind_data(std::uint32_t length, std::uint32_t method_length, bool chained, Address at);

  TargetBuilder target_;
  unsigned version_;
  Address top_ = 0;
};

} // namespace clr::test
