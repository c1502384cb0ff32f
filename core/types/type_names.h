// TypeHandles and MethodTables -> names. Source: dotnet/runtime
// docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/typestring.cpp.
#pragma once

#include "core/types/method_table.h"
#include "core/types/module_metadata.h"
#include "core/types/name_format.h"
#include "core/types/type_handle.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace clr {

// A module and the source of its names.
struct NamedModule {
  NamedModule(const Target& target, Address address, AssemblyFiles* files)
      : module(read_module(target, address)), name(module.display_name()), metadata(target, module, files) {}

  Module module;
  std::string name; // for people: "app.dll"
  ModuleMetadata metadata;
};

// Every module that was asked for, read once.
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
  std::unordered_map<Address, std::unique_ptr<NamedModule>> modules_;
};

// A type that the runtime loaded.
struct RuntimeType {
  MethodTable table;
  NamedModule* module = nullptr; // null when the Module could not be read
  TypeNamePtr name;              // null when nothing names it
  std::string fault;             // why `name` is null or has unknown parts; empty when it is whole
};

class TypeNames final : public TypeHandleNames {
public:
  // Both must outlive this. No reads; the layouts are resolved on first use.
  TypeNames(const Target& target, NamedModules& modules);

  // The type of a MethodTable. Throws Error{memory_missing} when it cannot be read and Error{corrupt} when it
  // is no MethodTable. Kept: a second call reads nothing. Cost cold: 3 reads for the MethodTable and its
  // class, its module once, 3 for generic arguments and the same for each, then metadata.
  const RuntimeType& type(Address method_table);

  // The type behind a TypeHandle. Never null; unknown_type() for what cannot be read. Primitives are
  // definitions ("System.Int32"), as signatures of the runtime's own making show them.
  TypeNamePtr type_of_handle(std::uint64_t type_handle) override;
  // The same as it stands for a type parameter: primitives as such.
  TypeNamePtr argument(Address type_handle);

  const MethodTables& tables();

  static constexpr unsigned max_depth = 64; // of types in types

private:
  RuntimeType read(Address method_table);
  TypeNamePtr name_of(const RuntimeType& type, std::string& fault);
  TypeNamePtr describe(const TypeDesc& desc);

  const Target* target_;
  NamedModules* modules_;
  std::optional<MethodTables> tables_;
  std::unordered_map<Address, std::unique_ptr<RuntimeType>> types_;
  std::unordered_map<Address, TypeNamePtr> type_descs_;
  std::unordered_set<Address> in_progress_;
};

} // namespace clr
