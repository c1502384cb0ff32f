// The fields of one instance, found by name, as numbers and references. For the sources of this room that
// know types of the framework.
#pragma once

#include "core/objects/object_reader.h"

#include <optional>
#include <string>
#include <string_view>

namespace clr {

// A type, and the place of an instance's bytes.
struct Instance {
  const TypeLayout& layout;
  Address fields = 0; // place of its first field
};

struct FieldPlace {
  const FieldLayout* field = nullptr;
  Address at = 0;
};

class InstanceReader {
public:
  // `reader` must outlive this. No reads.
  explicit InstanceReader(ObjectReader& reader) : reader_(&reader) {}

  // The object at `object`, which may be boxed. Throws as ObjectReader::method_table_of and TypeLayouts::of
  // do. 1 read, and those of the layout.
  Instance of_object(Address object);

  // An instance field of the type or of one of its base types, by its name or by that of the property that
  // only returns it. `field` throws Error{unsupported_contract} when there is none. No reads once the layouts
  // are known.
  std::optional<FieldPlace> find(const Instance& instance, std::string_view name);
  FieldPlace field(const Instance& instance, std::string_view name);
  // The value of a field: a number or enumeration (sign-extended), an unmanaged
  // pointer, or a reference. 1 read each.
  std::uint64_t integer(const Instance& instance, std::string_view name);
  Address reference(const Instance& instance, std::string_view name);
  // A structure within an instance; throws Error{corrupt} when the field is none.
  Instance inner(const Instance& instance, std::string_view name);
  // The number at `at`, sign-extended when its kind has a sign. 1 read.
  std::uint64_t number(ElementType number, Address at);

  // An array of one dimension: its elements, and their count. Throws Error{corrupt} when it is no array.
  struct Vector {
    const TypeLayout& layout;
    Address data = 0;
    std::uint32_t count = 0;
    Address at(std::uint64_t index) const { return data + index * layout.element_size; }
  };
  Vector vector(Address array);

  // Whether a type is the framework's `full_name`, or is derived from it.
  bool derives_from(const TypeLayout& layout, std::string_view full_name);

  const Target& target() { return reader_->finder().target(); }
  ObjectReader& objects() { return *reader_; }

private:
  ObjectReader* reader_;
};

// "System.Collections.Generic.List`1", "System.Collections.Generic.Queue`1+Enumerator" for a type of the
// framework's libraries, whose fields are known by name; "" for other types.
std::string framework_type_name(const TypeName& name);

// "<>z__ReadOnlyArray`1" for a type that the C# compiler has added to the program; "" for other types.
std::string compiler_type_name(const TypeName& name);

} // namespace clr
