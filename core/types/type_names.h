// Names of TypeHandles and MethodTables. Source: dotnet/runtime
// docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/typestring.cpp.
#pragma once

#include "core/memory/address_table.h"
#include "core/types/method_table.h"
#include "core/types/module_metadata.h"
#include "core/types/name_format.h"
#include "core/types/type_handle.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

// A module and its metadata, from which names are read.
struct NamedModule {
  NamedModule(const Target& target, Address address, AssemblyFiles* files, std::shared_ptr<NameRoom> room)
      : module(read_module(target, address)), name(module.display_name()), path(module.path),
        simple_name(module.simple_name), metadata(target, module, files, std::move(room)) {}

  Module module;
  SharedText name;        // to show to people: "app.dll"
  SharedText path;        // that of `module`
  SharedText simple_name; // that of `module`
  ModuleMetadata metadata;
};

// Every module that was asked for; each is read once.
class NamedModules {
public:
  // `files` may be null; both must outlive this. No reads.
  NamedModules(const Target& target, AssemblyFiles* files) : target_(&target), files_(files) {}

  // Throws Error{memory_missing, corrupt} when there is no Module at `address`. Cost: about 8 reads, then
  // none.
  NamedModule& at(Address address);

private:
  const Target* target_;
  AssemblyFiles* files_;
  std::shared_ptr<NameRoom> room_ = std::make_shared<NameRoom>();
  std::unordered_map<Address, std::unique_ptr<NamedModule>> modules_;
};

// A type that the runtime has loaded.
struct RuntimeType {
  MethodTable table;
  NamedModule* module = nullptr; // null when the Module could not be read
  TypeNamePtr name;              // null when nothing names it
  std::string fault;             // why `name` is null or has unknown parts; empty when the name is whole
  // Its methods' rows in MethodDef [first, last); nothing before somebody asked.
  mutable std::optional<std::pair<std::uint32_t, std::uint32_t>> methods = std::nullopt;
};

class TypeNames final : public TypeHandleNames {
public:
  // Both must outlive this. No reads; the layouts are resolved on first use.
  TypeNames(const Target& target, NamedModules& modules);

  // The type of a MethodTable. Throws Error{memory_missing} when it cannot be read and Error{corrupt} when it
  // is no MethodTable. Kept: a second call reads nothing. Cost cold: 3 reads for the MethodTable and its
  // class, those of its module once, 3 reads for generic arguments and the whole cost for each argument, then
  // metadata.
  const RuntimeType& type(Address method_table);

  // The type behind a TypeHandle. Never null: unknown_type() when it cannot be read, and beyond a limit.
  // Primitives come as definitions ("System.Int32"), as signatures that the runtime itself made show them.
  // Kept, and so is that it cannot be read, until forget_faults().
  TypeNamePtr type_of_handle(std::uint64_t type_handle) override;
  // The same type as the argument of a type parameter: primitives come as primitives.
  TypeNamePtr argument(Address type_handle);

  const MethodTables& tables();

  // TypeHandles that could not be read are read again: the process ran, and may have made their types.
  void forget_faults();

  static constexpr unsigned max_depth = 64; // nesting of types within types
  // Types within one name, those that it has several times counted each time. Names have some hundreds.
  static constexpr std::size_t max_name_parts = 64 * 1024;
  // Bytes of all names; further types have none. The 65,000 types of a large program have some 30 MB.
  static constexpr std::size_t max_all_names = 256u << 20;

private:
  RuntimeType read(Address method_table);
  TypeNamePtr name_of(const RuntimeType& type, std::string& fault);
  TypeNamePtr describe(const TypeDesc& desc);
  void begin_name();
  bool is_beyond_limit(Address type_handle) const;
  TypeNamePtr keep(Address type_handle, TypeNamePtr name);

  const Target* target_;
  NamedModules* modules_;
  std::optional<MethodTables> tables_;
  AddressTable<RuntimeType> types_;
  std::unordered_map<Address, TypeNamePtr> type_descs_;
  std::unordered_set<Address> unreadable_; // TypeHandles
  std::vector<Address> in_progress_;       // each within the one before
  std::size_t parts_ = 0;                  // of the outermost of these
  std::size_t bytes_ = 0;                  // of all names
};

} // namespace clr
