// The parts of an instance of a loaded type: size, fields with their places, enumerators.
// Source: dotnet/runtime src/coreclr/vm/{class.h,field.h,methodtable.h};
// docs/design/datacontracts/RuntimeTypeSystem.md.
#pragma once

#include "core/objects/type_finder.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

struct FieldLayout {
  std::string name;        // as in metadata; "" when it could not be read
  std::uint32_t token = 0; // Field
  TypeUsePtr type;         // never null
  // Bytes from the start of the value; for an object, bytes from its first field, behind the method table
  // pointer; for a thread static, from the object in which the thread keeps those of this type.
  std::uint32_t offset = 0;
  bool is_static = false, thread_static = false;
  // The address of a static field. Nothing for thread statics, for constants in the image, and for types
  // whose statics do not exist yet. `boxed`: the field is a value type, and the address holds a reference to
  // it.
  std::optional<Address> address;
  bool boxed = false;
  // A static field that lies among the references, as references and boxes do.
  bool in_gc_statics = false;
  // A static field whose bytes are part of the image: initial values that the compiler keeps.
  bool in_image = false;
};

namespace objects {

struct Enumerator {
  std::string name;
  std::uint64_t value = 0; // sign-extended
};

} // namespace objects

struct TypeLayout {
  enum class Kind : std::uint8_t { object, interface, value, enumeration, number, string, array };
  Kind kind = Kind::object;
  MethodTable table;
  TypeNamePtr name;           // never null
  std::string text;           // "Ns.Outer<int>.Inner"
  Address module = 0;         // 0: could not be read
  std::uint32_t type_def = 0; // token; 0: made by the runtime
  // Bytes of the value; for an object, its fields and the method table pointer, without elements and padding.
  std::uint32_t size = 0;
  ElementType number = ElementType::end; // the kind of a number, or the underlying type of an enumeration
  std::vector<FieldLayout> fields;       // declared by the type itself, in the order of their places
  std::vector<objects::Enumerator> enumerators; // in the order of the metadata
  bool flags = false;                           // of an enumeration: [Flags]
  // How often the only field of a structure is there, one behind the other: [InlineArray], `fixed` buffers.
  std::uint32_t repeats = 1;
  TypeUsePtr element; // of an array; else null
  std::uint32_t rank = 0;
  std::uint32_t element_size = 0; // bytes; of arrays and strings
  std::string problem;            // why fields or enumerators are missing; empty when nothing is

  const FieldLayout* field(std::string_view field_name) const; // instance fields only
  // The instance fields as the source declares them; the runtime places references first.
  std::vector<const FieldLayout*> declared_fields() const;
};

class TypeLayouts {
public:
  // `finder` must outlive this. No reads.
  explicit TypeLayouts(TypeFinder& finder) : finder_(&finder) {}

  // The layout of a MethodTable. Parts that are not available are missing, and `problem` says why. Throws
  // Error{memory_missing, corrupt} when it is no MethodTable, Error{unsupported_contract} when this runtime
  // does not tell the size of its types, Error{corrupt} behind max_all_bytes. Kept. Cost cold: some 6 reads;
  // for each field 2, its name and its signature.
  const TypeLayout& of(Address method_table);
  // Bytes of a variable of this type; 0: not known.
  std::uint32_t size_of(const TypeUse& type);

  // The names that the source gives to the elements of tuples in the type of a Field or Param token of
  // `module`, as with_tuple_names takes them. Throws Error. Kept. Cost cold: that of find_attribute.
  std::vector<std::string> tuple_names_of(Address module, std::uint32_t token);

  // Counts bytes that are kept with the layouts. Throws Error{corrupt} behind max_all_bytes.
  void keep(std::size_t bytes);
  // Only with ObjectReader::forget(), which keeps places in layouts.
  void forget();
  TypeFinder& finder() { return *finder_; }

  static constexpr std::uint32_t max_fields = 65'535; // of a type: the runtime's own limit
  static constexpr std::uint32_t max_enumerators = 65'536;
  static constexpr std::size_t max_enumerator_text = 4u << 20; // bytes of the names of one enumeration's
  // Bytes of all layouts, with the types that were made for the signatures of their fields. Those of the
  // 65,000 types of a large program take some 150 MB, were all of them looked at.
  static constexpr std::size_t max_all_bytes = 512u << 20;
  static constexpr std::uint32_t max_instance_size = 1u << 27; // bytes of fields: the runtime's own limit
  static constexpr unsigned max_base_types = 256;

private:
  // What the fields of one type have in common, so that it is made once.
  struct FieldTypes {
    std::unordered_map<std::uint32_t, TypeUsePtr> by_signature; // in the #Blob heap
    std::unordered_map<const TypeName*, bool> with_tuples;      // those of the types above
  };
  TypeLayout read(Address method_table);
  void name_field(FieldLayout& field, const TypeScope& scope, FieldTypes& types);
  void add_fields(TypeLayout& layout);
  std::uint32_t repeats_of(const TypeLayout& layout);
  void place_static(FieldLayout& field, const MethodTable& table, std::uint32_t offset);
  void add_enumerators(TypeLayout& layout);

  TypeFinder* finder_;
  unsigned repeating_ = 0; // structures whose only field is being measured
  bool naming_ = false;    // the names of a tuple's elements are being looked for
  std::unordered_map<Address, std::unique_ptr<TypeLayout>> layouts_;
  std::map<std::pair<Address, std::uint32_t>, std::vector<std::string>> tuple_names_; // by module and token
  std::size_t bytes_ = 0;
};

} // namespace clr
