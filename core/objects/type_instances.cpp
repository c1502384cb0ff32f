// The part of TypeFinder that finds instances of generic types, in each module's table of types that it has
// made.
#include "core/objects/type_finder.h"

#include <fmt/format.h>

#include <utility>

namespace clr {
namespace {

// Appends a text that identifies a type argument: equal texts only for equal types.
void append_key(std::string& key, const TypeUse& use, unsigned depth = 0) {
  key += fmt::format("{:x}", static_cast<unsigned>(use.kind));
  switch (use.kind) {
  case TypeUse::Kind::number:
    key += fmt::format(":{:x}", static_cast<unsigned>(use.number));
    break;
  case TypeUse::Kind::value:
  case TypeUse::Kind::reference:
    key += use.canonical ? "c" : use.method_table != 0 ? fmt::format(":{:x}", use.method_table) : "?";
    break;
  case TypeUse::Kind::array:
    key += fmt::format("{}{}", use.vector ? "v" : "r", use.rank);
    [[fallthrough]];
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
    if (use.element && depth < TypeNames::max_depth)
      append_key(key, *use.element, depth + 1);
    else
      key += format_type(*use.name);
    break;
  case TypeUse::Kind::unknown:
  case TypeUse::Kind::nothing:
    break;
  }
  key += ';';
}

} // namespace

void TypeFinder::list_all_instances() {
  if (all_listed_) return;
  all_listed_ = true;
  for (const Address module : names_->module_addresses()) list_instances(module);
}

void TypeFinder::list_instances(Address module) {
  if (!listed_.insert(module).second) return;
  try {
    read_instances(module);
  } catch (const Error&) {
    // This table cannot be read: its instances stay unknown.
  }
}

void TypeFinder::read_instances(Address module) {
  const Target& target = *target_;
  const unsigned pointer = target.pointer_size();
  const Address table = target.read_pointer(target.field_address(module, "Module", "AvailableTypeParams"));
  if (table == 0) return;
  const Address buckets = target.read_pointer(target.field_address(table, "EETypeHashTable", "Buckets"));
  if (buckets == 0) return;
  const std::int64_t value = target.offset("EETypeHashTable", "VolatileEntryValue");
  const std::int64_t next = target.offset("EETypeHashTable", "VolatileEntryNextEntry");
  // Slot 0 is the number of chains. Two more slots lead to the successor of the table and to its end mark.
  constexpr unsigned reserved = 3;
  const Address count = target.read_pointer(buckets);
  if (count > max_buckets) throw_corrupt(buckets, "a hash table of types with too many buckets");
  for (Address i = 0; i < count; ++i) {
    Address entry = target.read_pointer(buckets + (i + reserved) * pointer);
    while (entry != 0 && (entry & 1) == 0) {
      if (instance_count_ >= max_instances) return;
      const Address handle = target.read_pointer(entry + static_cast<Address>(value)) & ~Address{1};
      if (!is_type_desc(handle) && handle != 0) {
        const std::uint32_t rid =
            target.read_u32(target.field_address(handle, "MethodTable", "MTFlags2")) >> 8;
        const Address owner = target.read_pointer(target.field_address(handle, "MethodTable", "Module"));
        if (rid != 0) instances_[{owner, rid}].push_back(handle);
        ++instance_count_;
      }
      entry = target.read_pointer(entry + static_cast<Address>(next));
    }
  }
}

Address TypeFinder::listed_instance(Address definition, const std::string& key) {
  const MethodTable& open = names_->types().type(definition).table;
  const auto all = instances_.find({open.module, open.typedef_rid()});
  if (all == instances_.end()) return 0;
  KeyedInstances& keyed = instances_by_key_[definition];
  while (keyed.seen < all->second.size()) {
    const Address handle = all->second[keyed.seen++];
    try {
      std::string own;
      const RuntimeType& candidate = names_->types().type(handle);
      for (const Address argument : names_->types().tables().generic_arguments(candidate.table))
        append_key(own, *of_handle(argument));
      keyed.by_key.emplace(std::move(own), handle); // of equal instances, the first one counts
    } catch (const Error&) {
      // An instance that cannot be read is not a match.
    }
  }
  const auto found = keyed.by_key.find(key);
  return found == keyed.by_key.end() ? 0 : found->second;
}

std::vector<Address> TypeFinder::instances(Address module, std::uint32_t type_def) {
  list_all_instances();
  const auto found = instances_.find({module, rid_of(type_def)});
  return found == instances_.end() ? std::vector<Address>() : found->second;
}

Address TypeFinder::instance_of(Address definition, const std::vector<TypeUsePtr>& arguments) {
  try {
    std::string key;
    for (const TypeUsePtr& argument : arguments) {
      if (argument->kind == TypeUse::Kind::unknown) return 0;
      append_key(key, *argument);
    }
    list_instances(names_->types().type(definition).table.module);
    if (const Address found = listed_instance(definition, key); found != 0) return found;
    list_all_instances();
    return listed_instance(definition, key);
  } catch (const Error&) {
    return 0;
  }
}

} // namespace clr
