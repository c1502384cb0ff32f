// The part of TypeFinder that finds instances of generic types, in each module's table of types that it has
// made.
#include "core/objects/type_finder.h"
#include "core/types/type_handle.h"

#include <fmt/format.h>

#include <algorithm>
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

// The modules that may keep an instance with this argument are put behind `modules`.
void TypeFinder::add_modules_of(const TypeUse& argument, std::vector<Address>& modules,
                                std::unordered_set<Address>& met, unsigned depth) {
  if (depth >= TypeNames::max_depth) return;
  if (argument.element) return add_modules_of(*argument.element, modules, met, depth + 1);
  if (argument.method_table == 0 || met.size() >= max_argument_types ||
      !met.insert(argument.method_table).second)
    return;
  const MethodTables& tables = names_->types().tables();
  const MethodTable table = tables.read(argument.method_table);
  if (std::ranges::find(modules, table.module) == modules.end()) modules.push_back(table.module);
  for (const Address inner : tables.generic_arguments(table))
    add_modules_of(*of_handle(inner), modules, met, depth + 1);
}

InstanceTable* TypeFinder::table_of_instances(Address module) {
  const auto [slot, is_new] = instance_tables_.try_emplace(module);
  if (is_new) {
    try {
      slot->second.emplace(*target_, names_->types().tables(), module);
    } catch (const Error&) {
      // This table cannot be read: its instances stay unknown.
    }
  }
  return slot->second ? &*slot->second : nullptr;
}

void TypeFinder::list_instances(Address module) {
  InstanceTable* const table = listed_.insert(module).second ? table_of_instances(module) : nullptr;
  if (table == nullptr) return;
  const auto take = [&](Address handle) {
    if (!is_type_desc(handle) && handle != 0) {
      const std::uint32_t rid =
          target_->read_u32(target_->field_address(handle, "MethodTable", "MTFlags2")) >> 8;
      const Address owner = target_->read_pointer(target_->field_address(handle, "MethodTable", "Module"));
      if (rid != 0) instances_[{owner, rid}].push_back(handle);
    }
    return ++instance_count_ < max_instances;
  };
  std::size_t lost = 0;
  for (Address i = 0; i < table->chains() && lost < max_lost_chains; ++i) {
    if (instance_count_ >= max_instances || chain_count_++ >= InstanceTable::max_chains) return;
    try {
      table->visit(i, take);
    } catch (const Error&) {
      ++lost; // the rest of this chain stays unknown
    }
  }
}

// A type of the core library's that is not generic; 0: it cannot be found.
Address TypeFinder::core_type(const std::string& name) {
  const auto [slot, is_new] = core_types_.try_emplace(name, 0);
  const Address object = global_table("ObjectMethodTable");
  if (!is_new || object == 0) return slot->second;
  try {
    const Address module = names_->types().type(object).table.module;
    const std::uint32_t rid =
        names_->named_modules().at(module).metadata.with([&](MetadataNames& names) -> std::uint32_t {
          const Metadata& metadata = names.metadata();
          for (std::uint32_t i = 1; i <= metadata.rows(MetadataTable::type_def); ++i) {
            const TypeDefRow row = metadata.type_def(i);
            if (!row.nested() && metadata.string(row.name) == name &&
                metadata.string(row.name_space) == "System")
              return i;
          }
          return 0;
        });
    if (rid != 0) slot->second = in_map(module, "TypeDefToMethodTableMap", rid);
  } catch (const Error&) {
    // Then instances with it are found by a list of all.
  }
  return slot->second;
}

// The TypeHandle of a type argument; 0: it is not known.
Address TypeFinder::handle_of(const TypeUse& use, unsigned depth) {
  if (use.canonical) return core_type("__Canon");
  if (use.kind == TypeUse::Kind::value || use.kind == TypeUse::Kind::reference) return use.method_table;
  if (use.kind == TypeUse::Kind::array && use.vector && use.element && depth < TypeNames::max_depth) {
    const Address element = handle_of(*use.element, depth + 1);
    if (element == 0 || is_type_desc(element)) return 0;
    InstanceTable* const table = table_of_instances(names_->types().type(element).table.module);
    return table == nullptr ? 0 : table->find_vector(element);
  }
  if (use.kind != TypeUse::Kind::number) return 0;
  constexpr std::string_view name_space = "System.";
  const std::string name = format_sos_type(*primitive_type(use.number));
  return name.starts_with(name_space) ? core_type(name.substr(name_space.size())) : 0;
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

Address TypeFinder::look_for_instance(Address definition, const std::vector<TypeUsePtr>& arguments,
                                      const std::string& key) try {
  std::vector<Address> handles; // of all arguments, or none
  for (const TypeUsePtr& argument : arguments) handles.push_back(lists_all_ ? 0 : handle_of(*argument));
  if (std::ranges::find(handles, Address{0}) != handles.end()) handles.clear();
  const MethodTable open = names_->types().type(definition).table;
  const auto look_in = [&](Address module) -> Address {
    InstanceTable* const table =
        handles.empty() || listed_.contains(module) ? nullptr : table_of_instances(module);
    if (table != nullptr)
      if (const auto found = table->find(open.module, open.typedef_rid(), handles)) return *found;
    list_instances(module);
    return listed_instance(definition, key);
  };
  std::vector<Address> modules{open.module};
  if (const Address found = look_in(open.module); found != 0) return found;
  std::unordered_set<Address> met;
  for (const TypeUsePtr& argument : arguments) add_modules_of(*argument, modules, met);
  for (const Address module : std::span(modules).subspan(1))
    if (const Address found = look_in(module); found != 0) return found;
  return 0;
} catch (const Error&) {
  return 0;
}

Address TypeFinder::instance_of(Address definition, const std::vector<TypeUsePtr>& arguments) {
  try {
    std::string key;
    for (const TypeUsePtr& argument : arguments) {
      if (argument->kind == TypeUse::Kind::unknown) return 0;
      // Of a type that is not loaded there is no instance.
      if (argument->kind == TypeUse::Kind::reference && argument->method_table == 0 && !argument->canonical)
        return 0;
      append_key_of(key, *argument, 0);
    }
    if (const auto known = found_instances_.find({definition, key}); known != found_instances_.end())
      return known->second;
    const Address found = look_for_instance(definition, arguments, key);
    keep_instance(definition, std::move(key), found);
    return found;
  } catch (const Error&) {
    return 0;
  }
}

void TypeFinder::keep_instance(Address definition, std::string key, Address found) {
  constexpr std::size_t node = 128;
  found_bytes_ += node + key.size();
  if (found_bytes_ > max_found_bytes) {
    found_instances_.clear();
    found_bytes_ = node + key.size();
  }
  found_instances_.emplace(std::pair(definition, std::move(key)), found);
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
