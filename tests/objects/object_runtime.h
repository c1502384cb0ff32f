// A synthetic runtime with types and objects of many kinds.
#pragma once

#include "core/objects/object_reader.h"
#include "tests/types/runtime_types.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace clr::test {

struct ObjectRuntime {
  explicit ObjectRuntime(Platform platform);

  RuntimeTypes runtime;
  MemoryBuilder& memory;
  Address core_lib = 0, app = 0;
  // Types
  Address object_type = 0, string_type = 0, int_type = 0, char_type = 0, date_type = 0, color_type = 0,
          access_type = 0, point_type = 0, buffer_type = 0, animal_type = 0, dog_type = 0, list_of_int = 0,
          nullable_int = 0, ints_type = 0, objects_type = 0, grid_type = 0, exception_type = 0,
          time_span_type = 0, date_only_type = 0, time_only_type = 0, guid_type = 0, decimal_type = 0,
          numbers_type = 0, dictionary_type = 0, hash_set_type = 0, delegate_type = 0, canon_type = 0,
          task_type = 0, builder_type = 0, machine_type = 0;
  // An entry of a dictionary or set of numbers with texts: text, `next` and `Next`, `key`, `Value`; the
  // array.
  Address entry_type = 0, entries_type = 0;

  Address string(std::u16string_view text);
  Address instance(Address type, std::size_t fields_size); // zeroed, behind its method table
  Address fields_of(Address object) const { return object + runtime.pointer(); }
  Address array(Address type, std::uint32_t count, std::size_t bytes); // zeroed elements
  Address elements_of(Address array) const { return array + 2 * std::size_t{runtime.pointer()}; }

  // For further types: a field by its row in the metadata; the fields of a type; the types of a module by
  // their rows.
  struct Field {
    std::uint32_t rid, offset;
    unsigned element = 0x12;
    bool is_static = false;
  };
  void shape(Address type, std::uint32_t field_bytes, unsigned inherited, const std::vector<Field>& fields);
  void map_types(Address module, const std::map<std::uint32_t, Address>& types);

private:
  void describe();
};

// Readers over it, each with caches of its own.
struct ObjectView {
  ObjectView(ObjectRuntime& of, MemoryReader& memory)
      : target(memory, of.runtime.target.contract_descriptor(), of.runtime.target.platform()), code(target),
        names(target, code, nullptr), objects(target, names) {}
  explicit ObjectView(ObjectRuntime& of) : ObjectView(of, of.memory) {}

  Target target;
  ExecutionManager code;
  MethodNames names;
  ObjectReader objects;
};

} // namespace clr::test
