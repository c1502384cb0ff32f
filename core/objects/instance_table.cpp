#include "core/objects/instance_table.h"

#include "core/memory/error.h"
#include "core/types/type_handle.h"

#include <algorithm>

namespace clr {
namespace {
constexpr std::uint32_t type_def_token = 0x0200'0000, vector_kind = 0x1d;
// Slot 0 is the number of chains, slot 1 the table that will succeed this one, slot 2 its end mark.
constexpr unsigned reserved = 3;
} // namespace

InstanceTable::InstanceTable(const Target& target, const MethodTables& tables, Address module)
    : target_(&target), tables_(&tables) {
  const Address table = target.read_pointer(target.field_address(module, "Module", "AvailableTypeParams"));
  if (table == 0) return;
  buckets_ = target.read_pointer(target.field_address(table, "EETypeHashTable", "Buckets"));
  if (buckets_ == 0) return;
  value_ = target.offset("EETypeHashTable", "VolatileEntryValue");
  next_ = target.offset("EETypeHashTable", "VolatileEntryNextEntry");
  const Address count = target.read_pointer(buckets_);
  if (count > max_chains) throw_corrupt(buckets_, "a hash table of types with too many buckets");
  grows_ = count != 0 && target.read_pointer(buckets_ + target.pointer_size()) != 0;
  chains_ = count;
}

void InstanceTable::visit(Address index, const std::function<bool(Address)>& visit, std::size_t most) const {
  Address entry = target_->read_pointer(buckets_ + (index + reserved) * target_->pointer_size());
  while (entry != 0 && (entry & 1) == 0) {
    if (most-- == 0) throw_corrupt(entry, "a chain of a hash table of types that has too many entries");
    if (!visit(target_->read_pointer(entry + static_cast<Address>(value_)) & ~Address{1})) return;
    entry = target_->read_pointer(entry + static_cast<Address>(next_));
  }
}

// Only the low half of an address counts: the runtime keeps 32 bits of the number.
Address InstanceTable::chain_of(std::uint32_t first, std::span<const Address> arguments) const {
  constexpr std::uint32_t seed = 5'381, factor = 33;
  std::uint32_t hash = seed * factor ^ first;
  for (const Address argument : arguments) hash = hash * factor ^ static_cast<std::uint32_t>(argument);
  return hash % chains_;
}

bool InstanceTable::is_of(Address handle, Address owner, std::uint32_t rid) const {
  if (handle == 0 || is_type_desc(handle)) return false;
  const Address flags = target_->field_address(handle, "MethodTable", "MTFlags2");
  return target_->read_u32(flags) >> 8 == rid &&
         target_->read_pointer(target_->field_address(handle, "MethodTable", "Module")) == owner;
}

bool InstanceTable::is_proven() {
  if (!proven_) {
    try {
      proven_ = !grows_ && chains_ >= min_chains && prove();
    } catch (const Error&) {
      proven_ = false;
    }
  }
  return *proven_;
}

bool InstanceTable::prove() const {
  std::size_t seen = 0, left = max_proof_handles;
  bool right = true;
  for (Address i = 0; i < std::min(chains_, max_proof_chains) && right && seen < proof_instances; ++i) {
    visit(i, [&](Address handle) {
      if (left-- == 0) throw_corrupt(handle, "a hash table of types with too few instances");
      if (handle == 0 || is_type_desc(handle)) return true;
      const MethodTable table = tables_->read(handle);
      const std::vector<Address> arguments = tables_->generic_arguments(table);
      if (!arguments.empty() && table.typedef_rid() != 0) {
        right = chain_of(type_def_token | table.typedef_rid(), arguments) == i;
        ++seen;
      }
      return right && seen < proof_instances;
    });
  }
  return right && seen == proof_instances;
}

std::optional<Address> InstanceTable::find(Address owner, std::uint32_t rid,
                                           std::span<const Address> arguments) {
  if (!is_proven()) return std::nullopt;
  try {
    Address found = 0;
    const auto compare = [&](Address handle) {
      if (is_of(handle, owner, rid) &&
          std::ranges::equal(tables_->generic_arguments(tables_->read(handle)), arguments))
        found = handle;
      return found == 0;
    };
    visit(chain_of(type_def_token | rid, arguments), compare, max_searched);
    return found;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Address InstanceTable::find_vector(Address element) const {
  Address found = 0;
  try {
    if (chains_ != 0)
      visit(
          chain_of(vector_kind, {&element, 1}),
          [&](Address handle) {
            if (handle != 0 && !is_type_desc(handle)) {
              const MethodTable table = tables_->read(handle);
              if (table.is_szarray() && table.per_inst_info == element) found = handle;
            }
            return found == 0;
          },
          max_searched);
  } catch (const Error&) {
    // Not found.
  }
  return found;
}

} // namespace clr
