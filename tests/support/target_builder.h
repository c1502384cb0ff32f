// A synthetic runtime: types, globals and contracts of a made-up descriptor, and records of those types in
// memory. The descriptor is available as a value (target()) or as the bytes that a runtime would export
// (write_descriptor()).
//
//   TargetBuilder t(platform);
//   t.type("RangeSection", {{"RangeBegin"}, {"RangeEndOpen"}, {"Flags", Width::u32}, {"HeapList"}});
//   t.contract("ExecutionManager", 2).global("StubCodeBlockLast", 0xF, "uint8");
//   const Address section = t.record("RangeSection", {{"RangeBegin", 0x1000}, {"RangeEndOpen", 0x2000}});
//   t.variable("ThreadStore", store);             // a pointer global whose variable holds `store`
//   const Target target = t.target();
#pragma once

#include "core/target/target.h"
#include "tests/support/memory_builder.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clr::test {

// Of a field in memory; `bytes` fields are embedded and only their address is of use.
enum class Width : std::uint8_t { u8, u16, u32, u64, pointer, bytes };

struct FieldSpec {
  std::string name;
  Width width = Width::pointer;
  std::size_t count = 0;              // bytes of a Width::bytes field
  std::optional<std::int64_t> offset; // nothing: behind the field before it, naturally aligned
  std::string annotation = {};        // type name in the descriptor; empty as in release builds
};

using FieldValues = std::vector<std::pair<std::string_view, std::uint64_t>>;

class TargetBuilder {
public:
  explicit TargetBuilder(Platform platform) : memory_(platform) {}

  const Platform& platform() const { return memory_.platform(); }
  MemoryBuilder& memory() { return memory_; }

  // --- descriptor
  // Lays the fields out for the platform. `size` nothing: to the end of the last field, rounded up to a
  // pointer; 0: indeterminate. A second call for a type adds to it.
  TargetBuilder& type(const std::string& name, const std::vector<FieldSpec>& fields,
                      std::optional<std::uint32_t> size = std::nullopt);
  TargetBuilder& contract(const std::string& name, unsigned version);
  TargetBuilder& contract(const std::string& name, const std::string& version);
  // From now on the descriptor is in the format of .NET 11 and lists its contracts.
  TargetBuilder& as_net11();
  TargetBuilder& global(const std::string& name, std::uint64_t value, const std::string& type = {});
  TargetBuilder& global(const std::string& name, const std::string& text);
  // A global whose slot in the pointer table holds `slot`.
  TargetBuilder& pointer_global(const std::string& name, Address slot);
  // A pointer global with a fresh variable that holds `value`. Returns the variable's address.
  Address variable(const std::string& name, Address value);
  // Takes every type, global and contract of `descriptor`, e.g. of a real one.
  TargetBuilder& merge(const ContractDescriptor& descriptor);
  ContractDescriptor& descriptor() { return descriptor_; } // for what has no word here

  // --- records
  std::int64_t offset(std::string_view type, std::string_view field) const;
  std::uint64_t size_of(std::string_view type) const; // what a record occupies
  // A fresh zeroed record with these fields, of the type's size and `tail` bytes.
  Address record(std::string_view type, const FieldValues& values = {}, std::size_t tail = 0);
  // The same at a place of the test's choice.
  Address record_at(Address address, std::string_view type, const FieldValues& values = {});
  void set(Address record, std::string_view type, std::string_view field, std::uint64_t value);

  // --- results
  // With the descriptor as it stands now; the memory stays the builder's, which must outlive the target.
  Target target() { return Target(memory_, contract_descriptor(), platform()); }
  ContractDescriptor contract_descriptor() const;
  // The compact JSON of the descriptor with indices into slots().
  std::string json() const;
  std::vector<Address> slots() const;
  // Writes structure, JSON and pointer table; returns the structure's address.
  Address write_descriptor() { return write_descriptor(json(), slots()); }
  Address write_descriptor(std::string_view json, const std::vector<Address>& slots);
  // The structure alone, with any counts and addresses.
  Address write_structure(Address json, std::uint64_t json_size, Address slots, std::uint64_t slot_count);

private:
  struct Layout {
    std::map<std::string, Width, std::less<>> widths;
    std::uint64_t end = 0; // of the last field
  };
  unsigned width_of(Width width) const;

  MemoryBuilder memory_;
  ContractDescriptor descriptor_;
  std::map<std::string, Layout, std::less<>> layouts_;
};

} // namespace clr::test
