// A synthetic runtime with modules, types and methods, in CoreCLR 10's layout for the platform.
#pragma once

#include "core/types/method_names.h"
#include "core/types/method_table.h"
#include "tests/support/execution_builder.h"
#include "tests/support/metadata_builder.h"

#include <string>
#include <vector>

namespace clr::test {

enum class MetadataPlace : std::uint8_t { dynamic, flat, mapped, missing };

struct ModuleSpec {
  std::string path, file_name, simple_name;
  Bytes metadata;
  MetadataPlace place = MetadataPlace::dynamic;
  std::uint32_t flags = 0x8811; // optimised, as compilers ship
};

struct TypeSpec {
  Address module = 0;
  std::uint32_t rid = 0;
  std::uint32_t category = 0; // MTFlags, high half
  MethodTable::Generic generic = MethodTable::Generic::none;
  std::vector<Address> arguments = {};
  unsigned inherited_dictionaries = 0; // of generic base classes
  Address element = 0;                 // of an array
  unsigned rank = 0;
  Address canonical = 0; // shares that type's class
};

struct MethodSpec {
  std::uint32_t rid = 0;
  MethodClassification kind = MethodClassification::il;
  unsigned flags = 0x20; // beyond the classification
  unsigned flags3 = 0;   // 8: eligible for tiering
  unsigned slot = 0;
  unsigned instantiation = 0; // Flags2
  std::vector<Address> arguments = {};
  std::string name = {}; // of a dynamic method
  Bytes signature = {};  // stored
  unsigned extended_flags = 0;
};

// Code versions of a method, first one first.
struct VersionSpec {
  Address code = 0;
  std::uint32_t tier = 0;
};

class RuntimeTypes {
public:
  // `seed`: of the order of fields in a descriptor of .NET 11's format; 0: as .NET 10.
  explicit RuntimeTypes(Platform platform, unsigned seed = 0);
  RuntimeTypes(const RuntimeTypes&) = delete;
  RuntimeTypes& operator=(const RuntimeTypes&) = delete;

  ExecutionBuilder execution; // no code yet
  TargetBuilder& target;      // the same runtime's descriptor and memory

  Address module(const ModuleSpec& spec);
  Address type(const TypeSpec& spec);
  // Methods of one chunk of `type`, in order; the chunk is put at the end of the type's chain.
  std::vector<Address> chunk(Address type, const std::vector<MethodSpec>& methods);
  Address method(Address type, const MethodSpec& spec) { return chunk(type, {spec}).front(); }
  // `method`, which has a slot for it, keeps the address of its first code; 0: it was not compiled yet.
  void keep_code(Address method, Address start);
  // Gives `method` explicit versions; returns the nodes.
  std::vector<Address> versions(Address method, const std::vector<VersionSpec>& specs);
  // The app domain's list of these modules' assemblies, spread over blocks of `per_block`.
  void app_domain(const std::vector<Address>& modules, unsigned per_block = 2);
  // The runtime's call counting table: each method with its stage (4 disabled).
  void call_counting(const std::vector<std::pair<Address, unsigned>>& methods);
  Address array_of(Address element, unsigned rank = 0); // 0: a vector
  Address type_desc(unsigned element_type, Address argument);

  unsigned pointer() const { return target.platform().pointer_size; }
  Bytes handle_bytes(Address handle) const; // as ELEMENT_TYPE_INTERNAL stores it
  // Sets fields of a further type over the record at `at`, whose other bytes stay.
  void overlay(Address at, std::string_view type, const FieldValues& values);
  Address ee_class_of(Address type);
  Address chunk_of(Address method);
  // From here on the descriptor is .NET 11's; its AsyncMethodData has the signature embedded.
  void describe_net11_async();
  // Gives `method`, whose optional parts are its async data alone, such data. `signature` may be empty.
  void net11_async_data(Address method, std::uint32_t flags, const Bytes& signature);

private:
  void describe();
};

} // namespace clr::test
