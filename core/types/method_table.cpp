#include "core/types/method_table.h"

#include <fmt/format.h>

namespace clr {

MethodTables::MethodTables(const Target& target) : target_(&target) {
  const std::size_t pointer = target.pointer_size();
  flags_ = span_.require(target, "MTFlags", 4);
  base_size_ = span_.require(target, "BaseSize", 4);
  flags2_ = span_.require(target, "MTFlags2", 4);
  num_virtuals_ = span_.require(target, "NumVirtuals", 2);
  parent_ = span_.require(target, "ParentMethodTable", pointer);
  module_ = span_.require(target, "Module", pointer);
  class_or_canonical_ = span_.require(target, "EEClassOrCanonMT", pointer);
  per_inst_info_ = span_.require(target, "PerInstInfo", pointer);
  class_method_table_ = class_span_.require(target, "MethodTable", pointer);
  num_non_virtual_slots_ = class_span_.optional(target, "NumNonVirtualSlots", 2);
  rank_ = target.find_offset("ArrayClass", "Rank");
  num_dicts_ = dictionary_span_.require(target, "NumDicts", 2);
  num_type_args_ = dictionary_span_.require(target, "NumTypeArgs", 2);
  dictionary_info_size_ = target.find_size("GenericsDictInfo").value_or(pointer);
}

MethodTable MethodTables::read(Address address) const {
  const Platform& platform = target_->platform();
  address = platform.wrap(address);
  if (address == 0 || address % platform.pointer_size != 0) throw_corrupt(address, "no MethodTable can lie");
  const target::Record raw(*target_, address, span_);
  MethodTable table{.address = address,
                    .canonical = address,
                    .ee_class = raw.pointer(class_or_canonical_),
                    .parent = raw.pointer(parent_),
                    .module = raw.pointer(module_),
                    .per_inst_info = raw.pointer(per_inst_info_),
                    .flags = raw.u32(flags_),
                    .flags2 = raw.u32(flags2_),
                    .base_size = raw.u32(base_size_),
                    .num_virtuals = raw.u16(num_virtuals_),
                    .num_non_virtual_slots = {},
                    .array_rank = {}};
  if ((table.ee_class & 1) != 0) {
    table.canonical = table.ee_class & ~Address{1};
    table.ee_class = target_->read_pointer(table.canonical + static_cast<Address>(class_or_canonical_));
  }
  if (table.ee_class == 0 || (table.ee_class & 1) != 0) throw_corrupt(address, "MethodTable without a class");
  const target::Record cls(*target_, table.ee_class, class_span_);
  if (cls.pointer(class_method_table_) != table.canonical) {
    table.continuation = is_continuation(table);
    if (!table.continuation) throw_corrupt(address, "MethodTable whose class belongs to another type");
  }
  if (num_non_virtual_slots_) table.num_non_virtual_slots = cls.u16(*num_non_virtual_slots_);
  return table;
}

// The content of a variable that keeps its value once it has one; 0: none yet, or it is not published.
Address MethodTables::once_set(std::string_view global, Address& known) const {
  if (known == 0)
    if (const auto variable = target_->find_global(global)) known = target_->read_pointer(*variable);
  return known;
}

bool MethodTables::is_continuation(const MethodTable& table) const {
  const Address base = once_set("ContinuationMethodTable", continuation_base_);
  return base != 0 && table.parent == base &&
         table.ee_class == once_set("ContinuationSingletonEEClass", continuation_class_);
}

std::vector<Address> MethodTables::generic_arguments(const MethodTable& table) const {
  const auto kind = table.generic();
  if (kind == MethodTable::Generic::none || table.is_array() || table.per_inst_info == 0) return {};
  const std::uint64_t pointer = target_->pointer_size();
  // The GenericsDictInfo lies in the pointer-sized word before the dictionaries; the offsets of its fields
  // count from its own start.
  const target::Record info(*target_, target_->platform().wrap(table.per_inst_info - dictionary_info_size_),
                            dictionary_span_);
  const std::uint16_t count = info.u16(num_type_args_);
  // There is one dictionary for each generic class of the inheritance chain; the type's own is the last.
  const std::uint16_t dictionaries = info.u16(num_dicts_);
  if (count == 0 || count > max_arguments || dictionaries == 0 || dictionaries > max_dictionaries)
    throw_corrupt(table.address, fmt::format("{} generic arguments in {} dictionaries", count, dictionaries));
  const Address dictionary = target_->read_pointer(table.per_inst_info + pointer * (dictionaries - 1u));
  std::vector<std::byte> raw(count * pointer);
  target_->read_bytes(dictionary, raw);
  std::vector<Address> arguments(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = std::span(raw).subspan(i * pointer);
    const ByteOrder order = target_->platform().byte_order;
    arguments[i] = pointer == 8 ? load<std::uint64_t>(word, order) : load<std::uint32_t>(word, order);
  }
  return arguments;
}

unsigned MethodTables::array_rank(const MethodTable& table) const {
  if (table.is_szarray()) return 1;
  unsigned rank = 0;
  if (rank_) {
    rank = target_->read_u8(target_->platform().wrap(table.ee_class + static_cast<Address>(*rank_)));
  } else {
    // Each dimension of a multi-dimensional array adds 8 bytes to the object: a length and a lower bound of 4
    // bytes each.
    const std::uint64_t base = target_->global("ArrayBaseSize");
    if (table.base_size > base) rank = static_cast<unsigned>((table.base_size - base) / 8);
  }
  if (rank == 0 || rank > max_rank) throw_corrupt(table.address, fmt::format("array of {} dimensions", rank));
  return rank;
}

Address MethodTables::method_chunks(const MethodTable& table) const {
  return target_->read_pointer(target_->field_address(table.ee_class, "EEClass", "MethodDescChunk"));
}

} // namespace clr
