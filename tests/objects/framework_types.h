// Types of the framework's libraries for synthetic runtimes: the fields that their readers ask for, over
// numbers and objects.
#pragma once

#include "tests/objects/object_runtime.h"

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clr::test {

class FrameworkTypes {
public:
  explicit FrameworkTypes(ObjectRuntime& runtime);

  // The MethodTable of "Queue`1", a name without its namespace. "Lock#11" is that of .NET 11.
  Address operator[](std::string_view name) const { return types_.at(std::string(name)); }

  // An object of the type; `values` are those of its fields by name, the others are 0. Structures take their
  // bytes from set().
  using Values = std::initializer_list<std::pair<std::string_view, std::uint64_t>>;
  Address make(std::string_view type, const Values& values);
  // Sets a field of the instance of `type` whose first field is at `fields`.
  void set(std::string_view type, Address fields, std::string_view field, std::uint64_t value);
  // The place of a field of the object at `object`.
  Address place(std::string_view type, Address object, std::string_view field) const;
  // int[], object[], and an array of structures of `type`.
  Address numbers(std::initializer_list<std::uint32_t> values);
  Address objects(std::initializer_list<Address> values);
  Address structures(std::string_view type, std::uint32_t count); // zeroed
  Address structure_at(std::string_view type, Address array, std::uint32_t index) const;

private:
  struct Field {
    std::uint32_t offset = 0;
    unsigned width = 0;
  };
  ObjectRuntime* r_;
  std::map<std::string, Address> types_, arrays_;
  std::map<std::string, std::uint32_t> sizes_;
  std::map<std::pair<std::string, std::string>, Field> fields_;
};

// One sound object of each family that core/objects knows.
std::vector<Address> framework_samples(ObjectRuntime& runtime, FrameworkTypes& types);

} // namespace clr::test
