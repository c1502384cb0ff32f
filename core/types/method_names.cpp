#include "core/types/method_names.h"

#include "core/types/call_counting.h"
#include "core/types/code_versions.h"
#include "core/types/method_describer.h"
#include "core/types/r2r_names.h"
#include "core/types/recent_table.h"
#include "core/types/type_names.h"
#include "core/types/user_method.h"

#include <map>
#include <unordered_set>

namespace clr {

struct MethodNames::Impl {
  Impl(const Target& of, ExecutionManager& manager, AssemblyFiles* files)
      : target(of), code(manager), named_modules(of, files), types(of, named_modules), describer(of, types),
        call_counting(of),
        r2r(of, manager, named_modules, [this](const std::string& name) { return module_by_name(name); }) {}

  struct Known {
    MethodDesc desc;
    UnspelledMethod method;
  };
  // Valid until the next call.
  const Known& known(Address method_desc) {
    method_desc = target.platform().wrap(method_desc);
    if (const Known* found = methods.find(method_desc)) return *found;
    const MethodDescriber::Checked checked = describer.check(method_desc);
    return methods.add(method_desc, {checked.desc, describer.describe(checked)});
  }

  // Modules of the app domain, then those that only range sections name.
  std::vector<Address> module_addresses() {
    std::vector<Address> addresses;
    try {
      addresses = modules_of_app_domain(target).modules;
    } catch (const Error&) {
      // The list is missing or torn; the range sections still name modules.
    }
    try {
      std::unordered_set<Address> seen(addresses.begin(), addresses.end());
      for (const RangeSection& section : code.sections())
        if (section.r2r_module != 0 && seen.insert(section.r2r_module).second)
          addresses.push_back(section.r2r_module);
    } catch (const Error&) {
      // Without a range map, the app domain's list is all there is.
    }
    return addresses;
  }

  const std::vector<Address>& known_modules() {
    if (!module_list) module_list = module_addresses();
    return *module_list;
  }

  NamedModule* module_by_name(const std::string& simple_name) {
    for (const Address address : known_modules()) {
      try {
        NamedModule& module = named_modules.at(address);
        if (module.module.simple_name == simple_name || module.name == simple_name + ".dll") return &module;
      } catch (const Error&) {
        // A module that cannot be read has no name to match.
      }
    }
    return nullptr;
  }

  CodeVersions& code_versions() {
    if (!versions) versions.emplace(target);
    return *versions;
  }

  const Target& target;
  ExecutionManager& code;
  NamedModules named_modules;
  TypeNames types;
  MethodDescriber describer;
  CallCounting call_counting;
  R2RNames r2r;
  static bool may_have_user_method(const MethodFacts& method) {
    return method.qualified && table_of(method.token) == MetadataTable::method_def &&
           method.runtime_module != 0 && may_be_compiler_made(*method.qualified);
  }
  // `full_name` tells instantiations apart.
  std::shared_ptr<const UserMethod> user_method(const MethodFacts& method, const std::string& full_name) {
    const auto [slot, is_new] = user_methods.try_emplace({method.runtime_module, full_name});
    if (!is_new) return slot->second;
    try {
      slot->second = named_modules.at(method.runtime_module).metadata.with([&](MetadataNames& names) {
        auto found = find_user_method(names, rid_of(method.token), *method.qualified);
        return found ? std::make_shared<const UserMethod>(std::move(*found)) : nullptr;
      });
    } catch (const Error&) {
      // The compiler's name has been read; the user's is not worth a fault.
    }
    return slot->second;
  }

  std::optional<CodeVersions> versions;
  std::map<std::pair<Address, std::string>, std::shared_ptr<const UserMethod>> user_methods;
  std::optional<std::vector<Address>> module_list;
  RecentTable<Known> methods;
};

MethodNames::MethodNames(const Target& target, ExecutionManager& code, AssemblyFiles* files)
    : impl_(std::make_unique<Impl>(target, code, files)) {
  code.set_r2r_entries(
      [impl = impl_.get()](const RangeSection& section) { return impl->r2r.entry_points(section); });
}

MethodNames::~MethodNames() {
  impl_->code.set_r2r_entries({});
}

Method MethodNames::describe(Address method_desc) {
  return impl_->known(method_desc).method.spell();
}

Method MethodNames::describe_in(Address method_desc, Address method_table) {
  const MethodDesc desc = impl_->known(method_desc).desc;
  const Address canonical = impl_->types.type(desc.method_table).table.canonical;
  const RuntimeType& type = impl_->types.type(impl_->target.platform().wrap(method_table));
  if (type.table.canonical != canonical)
    throw_corrupt(method_table, "a type that does not share the code of the method");
  UnspelledMethod method = impl_->describer.describe({.desc = desc, .type = &type});
  method.method_table = type.table.address;
  return std::move(method).spell();
}

UnspelledMethod MethodNames::describe_once(Address method_desc, MethodParts parts) {
  method_desc = impl_->target.platform().wrap(method_desc);
  if (const Impl::Known* known = impl_->methods.find(method_desc)) return known->method;
  return impl_->describer.describe(impl_->describer.check(method_desc), parts);
}

void MethodNames::add_user_method(Method& method) {
  method.user = Impl::may_have_user_method(method) ? impl_->user_method(method, method.full_name) : nullptr;
}

void MethodNames::add_user_method(UnspelledMethod& method) {
  method.user = Impl::may_have_user_method(method)
                    ? impl_->user_method(method, format_full_name(*method.qualified))
                    : nullptr;
}

const MethodDesc& MethodNames::method_desc(Address method_desc) {
  return impl_->known(method_desc).desc;
}

Tier MethodNames::tier(Address method_desc, Address start, CodeKind kind) {
  if (kind == CodeKind::ready_to_run) return Tier::r2r;
  if (kind != CodeKind::jitted) return Tier::unknown;
  const Impl::Known& known = impl_->known(method_desc);
  const MethodDesc& desc = known.desc;
  CodeVersions& versions = impl_->code_versions();
  if (const auto version = versions.find(desc.code_data, start)) return version->tier;
  // The body is the method's default version: find the tier that the runtime would choose for it.
  if (const auto stored = versions.stored_default_tier(desc.code_data); stored && *stored != Tier::unknown)
    return *stored;
  if (desc.classification() == MethodClassification::dynamic) {
    // IL stubs are always optimised. A DynamicMethod follows the settings of the module that owns it.
    if (known.method.kind == MethodKind::il_stub) return Tier::optimized;
    if (known.method.kind != MethodKind::dynamic) return Tier::unknown; // it could not be read which of both
    const RuntimeType& type = impl_->types.type(desc.method_table);
    if (!type.module) return Tier::unknown;
    return type.module->module.jit_optimization_disabled() ? Tier::minopts : Tier::optimized;
  }
  if (!desc.is_eligible_for_tiering()) {
    // The module or the method may forbid the JIT to optimise.
    const RuntimeType& type = impl_->types.type(desc.method_table);
    if (!type.module || !known.method.no_optimization) return Tier::unknown;
    const bool forbidden = type.module->module.jit_optimization_disabled() || *known.method.no_optimization;
    return forbidden ? Tier::minopts : Tier::optimized;
  }
  // Eligible methods start at tier 0 unless the JIT switched to optimised code by itself.
  const auto counted = impl_->call_counting.enabled(desc.address);
  if (!counted) return Tier::unknown;
  return *counted ? Tier::tier0 : Tier::optimized;
}

std::string MethodNames::type_name(Address method_table) {
  const RuntimeType& type = impl_->types.type(method_table);
  if (!type.name) throw Error(ErrorKind::memory_missing, method_table, type.fault);
  return format_type(*type.name);
}

std::vector<ModuleDescription> MethodNames::modules() {
  std::vector<ModuleDescription> result;
  for (const Address address : impl_->module_addresses()) {
    try {
      NamedModule& named = impl_->named_modules.at(address);
      ModuleDescription description{.module = address, .name = named.name.str(), .path = named.module.path};
      description.base = named.module.base;
      description.r2r = named.module.r2r_info != 0;
      try {
        description.base = image_mapping(impl_->target, named.module).base;
        description.composite = is_composite(impl_->target, named.module);
      } catch (const Error&) {
        // The image tells nothing more; the facts of the Module itself remain.
      }
      try {
        named.metadata.with([&](MetadataNames& names) {
          description.method_count = names.metadata().rows(MetadataTable::method_def);
          description.mvid = to_string(names.metadata().mvid());
        });
        description.metadata_from = named.metadata.source();
        description.metadata_note = named.metadata.reservation();
      } catch (const Error& fault) {
        description.metadata_note = fault.what();
      }
      result.push_back(std::move(description));
    } catch (const Error&) {
      // This entry cannot be read: a hole in the list.
    }
  }
  return result;
}

void MethodNames::for_each_r2r_method(const RangeSection& section,
                                      const std::function<bool(R2RMethod&)>& visit, MethodParts parts) {
  impl_->r2r.for_each(section, parts, [&](std::uint32_t index, UnspelledMethod method) {
    R2RMethod found{.function_index = index, .method = std::move(method)};
    return visit(found);
  });
}

std::optional<R2RImport> MethodNames::import_at(Address cell) {
  const RangeSection* const section = impl_->code.section_at(cell);
  if (section == nullptr || section->r2r_module == 0) return std::nullopt;
  return impl_->r2r.import_at(*section, cell);
}

ExecutionManager& MethodNames::code() {
  return impl_->code;
}

TypeNames& MethodNames::types() {
  return impl_->types;
}

NamedModules& MethodNames::named_modules() {
  return impl_->named_modules;
}

const std::vector<Address>& MethodNames::module_addresses() {
  return impl_->known_modules();
}

std::vector<Address> MethodNames::method_arguments(Address method_desc) {
  const MethodDesc desc = impl_->known(method_desc).desc;
  std::vector<Address> arguments;
  if (desc.classification() != MethodClassification::instantiated) return arguments;
  const MethodInstantiation instantiation = impl_->describer.descs().instantiation(desc);
  if (instantiation.kind == MethodInstantiation::Kind::definition || instantiation.arguments == 0)
    return arguments;
  if (instantiation.count > MethodDescs::max_arguments)
    throw_corrupt(desc.address, "generic method of too many arguments");
  arguments.reserve(instantiation.count);
  for (std::uint16_t i = 0; i < instantiation.count; ++i)
    arguments.push_back(
        impl_->target.read_pointer(instantiation.arguments + i * impl_->target.pointer_size()));
  return arguments;
}

const Method* MethodNames::r2r_method(const RangeSection& section, std::uint32_t index) {
  return impl_->r2r.method(section, index);
}

} // namespace clr
