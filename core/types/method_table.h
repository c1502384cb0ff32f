// MethodTable and EEClass: the runtime's own record of a type.
// Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/methodtable.h.
#pragma once

#include "core/target/record.h"
#include "core/target/target.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace clr {

struct MethodTable {
  enum class Generic : std::uint8_t { none, exact, shared, definition };

  Address address = 0;
  Address canonical = 0; // the address of this one, or of the MethodTable whose code it shares
  Address ee_class = 0;
  Address parent = 0;
  Address module = 0;
  Address per_inst_info = 0; // dictionaries; for an array the TypeHandle of its element
  std::uint32_t flags = 0, flags2 = 0, base_size = 0;
  std::uint16_t num_virtuals = 0;
  std::optional<std::uint16_t> num_non_virtual_slots; // of the EEClass
  std::optional<std::uint8_t> array_rank;             // of the EEClass; meaningful for arrays only
  // Made for the suspended state of async methods: it shares one EEClass with others, and is named like its
  // base type.
  bool continuation = false;

  bool has_component_size() const { return (flags & 0x8000'0000) != 0; }
  std::uint32_t category() const { return flags & 0x000f'0000; }
  bool is_array() const { return (flags & 0x000c'0000) == 0x0008'0000; }
  bool is_szarray() const { return category() == 0x000a'0000; }
  bool is_value_type() const { return (flags & 0x000c'0000) == 0x0004'0000; }
  bool is_string() const { return has_component_size() && !is_array() && (flags & 0xffff) == 2; }
  Generic generic() const {
    // In types with a component size, that size occupies the place of these bits.
    return has_component_size() ? Generic::none : static_cast<Generic>(flags >> 4 & 3);
  }
  std::uint32_t typedef_rid() const { return flags2 >> 8; } // 0: made by the runtime
};

class MethodTables {
public:
  // Resolves the layouts; no reads. Throws Error{unsupported_contract} when one is missing.
  explicit MethodTables(const Target& target);

  // The MethodTable at `address`, checked: its EEClass must lead back to it or to its canonical MethodTable.
  // Throws Error{memory_missing} or Error{corrupt}. Cost: 2 reads, 3 when it shares the EEClass of another
  // MethodTable.
  MethodTable read(Address address) const;

  // Generic arguments as TypeHandles, in order. Empty for types that are not generic. Cost: 3 reads.
  std::vector<Address> generic_arguments(const MethodTable& table) const;

  // Dimensions of an array: 1 for vectors.
  unsigned array_rank(const MethodTable& table) const;

  // MethodDescChunk chain of the type. Cost: 1 read.
  Address method_chunks(const MethodTable& table) const;

  static constexpr std::uint16_t max_arguments = 1'024;
  static constexpr std::uint16_t max_dictionaries = 4'096; // one per generic class of the inheritance chain
  static constexpr unsigned max_rank = 32;                 // the type system's own limit

private:
  bool is_continuation(const MethodTable& table) const;
  Address once_set(std::string_view global, Address& known) const;

  const Target* target_;
  // Null until the runtime made the first continuation type.
  mutable Address continuation_base_ = 0, continuation_class_ = 0;
  RecordSpan span_{"MethodTable"}, class_span_{"EEClass"}, dictionary_span_{"GenericsDictInfo"};
  std::int64_t flags_, base_size_, flags2_, num_virtuals_, parent_, module_, class_or_canonical_,
      per_inst_info_;
  std::int64_t class_method_table_;
  std::int64_t num_type_args_, num_dicts_ = 0;
  std::uint64_t dictionary_info_size_ = 0;
  std::optional<std::int64_t> num_non_virtual_slots_, rank_;
};

} // namespace clr
