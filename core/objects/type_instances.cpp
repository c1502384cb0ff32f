// The part of TypeFinder that finds instances of generic types, in each module's table of types that it has
// made.
#include "core/objects/type_finder.h"

#include <fmt/format.h>

#include <utility>

namespace clr {
namespace {

// Appends what identifies a type argument, without the element of an array or pointer.
void append_own_key(std::string& key, const TypeUse& use) {
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
    break;
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
  case TypeUse::Kind::unknown:
  case TypeUse::Kind::nothing:
    break;
  }
}

// Appends a text that identifies a type argument: equal texts only for equal types.
void append_key_of(std::string& key, const TypeUse& use, unsigned depth) {
  append_own_key(key, use);
  if (use.kind == TypeUse::Kind::array || use.kind == TypeUse::Kind::pointer ||
      use.kind == TypeUse::Kind::byref) {
    if (use.element && depth < TypeNames::max_depth)
      append_key_of(key, *use.element, depth + 1);
    else
      key += format_type(*use.name);
  }
  key += ';';
}

} // namespace

// The same text for the type of a handle. The name is not looked at, because that would read the metadata of
// the module of each argument of each instance: only System.__Canon is known by its name, and lies in the
// module of System.Object.
void TypeFinder::append_key(std::string& key, Address handle, unsigned depth) {
  handle = target_->platform().wrap(handle);
  if (is_type_desc(handle) || depth >= TypeNames::max_depth)
    return append_key_of(key, *of_handle(handle), depth);
  const MethodTables& tables = names_->types().tables();
  const MethodTable table = tables.read(handle);
  const TypeUse use = nameless(table);
  if (use.kind == TypeUse::Kind::reference) {
    const Address object = global_table("ObjectMethodTable");
    if (object == 0 || table.module == names_->types().type(object).table.module)
      return append_key_of(key, *of_handle(handle), depth);
  }
  append_own_key(key, use);
  if (use.kind == TypeUse::Kind::array) append_key(key, table.per_inst_info, depth + 1);
  key += ';';
}

void TypeFinder::list_all_instances() {
  if (all_listed_) return;
  all_listed_ = true;
  for (const Address module : names_->module_addresses()) list_instances(module);
}

// The instances in each module that may keep one with this argument.
void TypeFinder::list_instances_of(const TypeUse& argument, unsigned depth) {
  if (depth >= TypeNames::max_depth) return;
  if (argument.element) return list_instances_of(*argument.element, depth + 1);
  if (argument.method_table == 0) return;
  const MethodTables& tables = names_->types().tables();
  const MethodTable table = tables.read(argument.method_table);
  list_instances(table.module);
  for (const Address inner : tables.generic_arguments(table)) list_instances_of(*of_handle(inner), depth + 1);
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
      const MethodTables& tables = names_->types().tables();
      for (const Address argument : tables.generic_arguments(tables.read(handle))) append_key(own, argument);
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

std::vector<Address> TypeFinder::all_instances() {
  list_all_instances();
  std::vector<Address> all;
  for (const auto& [definition, instances] : instances_)
    all.insert(all.end(), instances.begin(), instances.end());
  return all;
}

Address TypeFinder::instance_of(Address definition, const std::vector<TypeUsePtr>& arguments) {
  try {
    std::string key;
    for (const TypeUsePtr& argument : arguments) {
      if (argument->kind == TypeUse::Kind::unknown) return 0;
      append_key_of(key, *argument, 0);
    }
    list_instances(names_->types().type(definition).table.module);
    if (const Address found = listed_instance(definition, key); found != 0) return found;
    for (const TypeUsePtr& argument : arguments) list_instances_of(*argument);
    return listed_instance(definition, key);
  } catch (const Error&) {
    return 0;
  }
}

Address TypeFinder::shared_instance_of(Address definition, const std::vector<TypeUsePtr>& arguments) {
  std::vector<TypeUsePtr> shared;
  shared.reserve(arguments.size());
  for (const TypeUsePtr& argument : arguments) {
    TypeUse one = *argument;
    if (one.kind == TypeUse::Kind::reference || one.kind == TypeUse::Kind::array) {
      one = {.kind = TypeUse::Kind::reference, .canonical = true, .name = argument->name};
    } else if (one.kind == TypeUse::Kind::value && one.method_table != 0) {
      try {
        one.method_table = names_->types().tables().read(one.method_table).canonical;
      } catch (const Error&) {
        return 0;
      }
    }
    shared.push_back(std::make_shared<const TypeUse>(std::move(one)));
  }
  return instance_of(definition, shared);
}

TypeUsePtr TypeFinder::use_of_instance(Address definition, const std::vector<TypeUsePtr>& arguments,
                                       const TypeUse& use) {
  const Address exact = instance_of(definition, arguments);
  if (exact != 0) return of_handle(exact);
  // Of a structure that is only a field, the runtime has loaded nothing but what all of its kind share.
  const Address shared = use.kind == TypeUse::Kind::unknown ? shared_instance_of(definition, arguments) : 0;
  if (shared == 0) return nullptr;
  TypeUse same = *of_handle(shared);
  same.name = use.name;
  return std::make_shared<const TypeUse>(std::move(same));
}

} // namespace clr
