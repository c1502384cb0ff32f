// Finds the types that the runtime has loaded for signatures and tokens.
// Source: dotnet/runtime docs/design/datacontracts/Loader.md (lookup maps),
// docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/typehash.h.
#pragma once

#include "core/objects/instance_table.h"
#include "core/objects/lookup_map.h"
#include "core/objects/type_use.h"
#include "core/types/method_names.h"
#include "core/types/type_names.h"

#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

// The context in which a signature is read.
struct TypeScope {
  Address module = 0; // Module that the tokens belong to
  // TypeHandles of the types that VAR n and MVAR n stand for.
  std::span<const Address> class_arguments = {}, method_arguments = {};
};

class TypeFinder {
public:
  // `target` and `names` must outlive this. No reads.
  TypeFinder(const Target& target, MethodNames& names) : target_(&target), names_(&names) {}

  // --- Answers are kept. These never throw: a type that cannot be read is Kind::unknown.
  // The use of a TypeHandle. Cost cold: that of TypeNames::type, 1 more for a primitive.
  TypeUsePtr of_handle(Address type_handle);

  // A type within a signature. Throws Error{corrupt} for a damaged signature. Cost: up to 4 reads for each
  // token. Generic instances cost that of InstanceTable::find, and where that does not tell the first one of
  // a module's types lists the instances that the module keeps, 4 reads each. An instance that is not there
  // is looked for in the modules of its arguments: a type whose arguments can be unloaded is kept by one of
  // these (src/coreclr/vm/clsload.cpp, ComputeLoaderModuleWorker).
  TypeUsePtr read(SignatureReader& reader, const TypeScope& scope);

  struct Signature {
    bool has_this = false;
    TypeUsePtr return_type;
    std::vector<TypeUsePtr> parameters; // without `this`
  };
  // The signature of a MethodDef row, of locals (a StandAloneSig row), and of a Field row. These throw Error.
  Signature method(std::uint32_t method_rid, const TypeScope& scope);
  // The signature of a method at `reader`. Throws Error{corrupt}.
  Signature method(SignatureReader& reader, const TypeScope& scope);
  std::vector<TypeUsePtr> locals(std::uint32_t signature_rid, const TypeScope& scope);
  TypeUsePtr field(std::uint32_t field_rid, const TypeScope& scope);

  // The MethodTable of a TypeDef or TypeRef token; for a generic type that of its definition. 0: the type is
  // not loaded, or it cannot be found. Throws Error for missing memory.
  Address loaded(Address module, std::uint32_t token);

  // The instances of a generic type that a module defines, in no order; empty for other types. Never throws.
  // Cost: that of the first generic instance, see read().
  std::vector<Address> instances(Address module, std::uint32_t type_def);
  // Those of all generic types, also over variables, in no order. As above.
  std::vector<Address> all_instances();

  // Whether a module of this name is loaded: "FSharp.Core". Never throws. Cost: the names of all modules
  // once, then none.
  bool has_assembly(const std::string& simple_name) { return module_named(simple_name) != nullptr; }

  // From now on instances of generic types are found by a list of all in a module, as a reader needs them who
  // gets no other memory than what is read now.
  void list_all() { lists_all_ = true; }

  // Forgets everything: the process ran, and may have loaded types.
  void forget();

  // Bytes of the types that were made for the last signature, without those that are kept anyway.
  std::size_t made_bytes() const { return made_bytes_; }

  const Target& target() const { return *target_; }
  MethodNames& names() { return *names_; }

  static constexpr std::size_t max_instances = 1'000'000; // entries of all hash tables of types
  static constexpr std::size_t max_lost_chains = 1'000;   // of one such table, that cannot be read
  static constexpr std::uint32_t max_locals = 65'535;     // of a method; the format's own limit
  static constexpr unsigned max_forwards = 8;             // modules that forward a type to another module
  // Bytes of all TypeSpecs that one signature expands to, as MetadataNames::max_expanded.
  static constexpr std::size_t max_expanded = 64 * 1024;
  // Types within the arguments of an instance whose modules may keep it. Arguments have some tens at most.
  static constexpr std::size_t max_argument_types = 1'000;
  // Bytes of what is kept of instances that were looked for; then it is dropped, and looked for again.
  static constexpr std::size_t max_found_bytes = 32u << 20;
  // Rows of one module whose names have one hash, and are compared. Equal names are found with the first.
  static constexpr std::size_t max_same_hash = 64;

private:
  struct Provider;
  // Rows of a table by the hash of their names: the texts of some million rows would take gigabytes.
  class NameIndex {
  public:
    void add(std::string_view name, std::uint32_t rid);
    void sort(); // behind the last row
    // The first row of that name for which `is_it` says so; 0: none.
    template<typename IsIt>
    std::uint32_t find(std::string_view name, IsIt is_it) const;

  private:
    std::vector<std::pair<std::size_t, std::uint32_t>> rows_;
  };
  // The types that a module defines, and those that it forwards to others (rows of ExportedType).
  struct ModuleTypes {
    NameIndex defined, forwarded;
  };
  const ModuleTypes& types_of(NamedModule& module);
  // As read(), within a signature that has begun.
  TypeUsePtr decode(SignatureReader& reader, const TypeScope& scope);
  // `map` is a string literal.
  Address in_map(Address module, std::string_view map, std::uint32_t rid);
  Address by_name(Address module, std::uint32_t type_ref);
  Address named_type(NamedModule& module, const TypeName& name, unsigned depth);
  NamedModule* module_named(const std::string& simple_name);
  Address instance_of(Address definition, const std::vector<TypeUsePtr>& arguments);
  // The same, looked for; `key` identifies the arguments.
  Address look_for_instance(Address definition, const std::vector<TypeUsePtr>& arguments,
                            const std::string& key);
  void keep_instance(Address definition, std::string key, Address found);
  // The instance of a definition, for whose other facts `use` stands; null: it is not loaded.
  TypeUsePtr use_of_instance(Address definition, const std::vector<TypeUsePtr>& arguments,
                             const TypeUse& use);
  // The instance that stands for all whose arguments differ in references alone; its layout is theirs.
  Address shared_instance_of(Address definition, const std::vector<TypeUsePtr>& arguments);
  // The instance with the arguments `key` among those that are listed; 0: none.
  Address listed_instance(Address definition, const std::string& key);
  void list_all_instances();
  void list_instances(Address module);
  // `met` are the MethodTables that were looked at: a type may be its own argument, many times over.
  void add_modules_of(const TypeUse& argument, std::vector<Address>& modules,
                      std::unordered_set<Address>& met, unsigned depth = 0);
  // Null: it cannot be read.
  InstanceTable* table_of_instances(Address module);
  Address handle_of(const TypeUse& use, unsigned depth = 0);
  Address core_type(const std::string& name);
  TypeUsePtr use_of(const RuntimeType& type);
  // The same without a name, without the element of an array, and not canonical.
  TypeUse nameless(const MethodTable& table);
  void append_key(std::string& key, Address type_handle, unsigned depth = 0);
  Address global_table(std::string_view global);

  const Target* target_;
  MethodNames* names_;
  std::unordered_map<Address, TypeUsePtr> uses_;                   // by TypeHandle
  std::map<std::pair<Address, std::uint32_t>, Address> loaded_;    // by module and token
  std::map<std::pair<Address, std::string_view>, LookupMap> maps_; // by module and name
  std::unordered_map<Address, ModuleTypes> by_name_;               // by module
  // The instances of one definition by the identity of their arguments: of the first `seen` that are listed.
  struct KeyedInstances {
    std::unordered_map<std::string, Address> by_key;
    std::size_t seen = 0;
  };
  bool lists_all_ = false, all_listed_ = false;
  std::unordered_set<Address> listed_;                                          // modules
  std::map<std::pair<Address, std::uint32_t>, std::vector<Address>> instances_; // by module and rid
  std::unordered_map<Address, KeyedInstances> instances_by_key_;                // by definition
  // What was found for a definition and the identity of arguments; 0: nothing.
  std::map<std::pair<Address, std::string>, Address> found_instances_;
  std::size_t found_bytes_ = 0;
  std::size_t instance_count_ = 0;
  Address chain_count_ = 0; // of the tables in listed_
  std::unordered_map<Address, std::optional<InstanceTable>>
      instance_tables_;                                         // by module; nothing: unreadable
  std::unordered_map<std::string, Address> core_types_;         // by name; 0: not found
  std::unordered_map<std::string_view, Address> global_tables_; // by name; the keys are string literals
  std::unordered_map<std::string, NamedModule*> modules_by_name_;
  unsigned spec_depth_ = 0, depth_ = 0;
  std::size_t made_bytes_ = 0;
  std::size_t expanded_ = 0; // bytes of TypeSpecs decoded so far for the current signature
};

} // namespace clr
