// An object or value taken apart: its fields and elements as values, not as one line of text.
#pragma once

#include "core/objects/object_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The value of a field, an element, a variable or a static.
struct InspectedValue {
  enum class Kind : std::uint8_t {
    unknown,   // `fault` says why
    boolean,   // `bits`
    integer,   // `bits`, sign-extended
    cardinal,  // `bits`: a number without a sign, or a pointer
    real,      // `real`
    character, // `bits`: a UTF-16 code unit
    text,      // an enumeration, a structure or a value with a text of its own
    reference, // `object`; 0: null
  };
  Kind kind = Kind::unknown;
  std::string type; // as declared
  std::uint64_t bits = 0;
  double real = 0;
  Address object = 0;
  std::string object_type; // the type that the object has; empty for null, and when it cannot be read
  std::string text;        // for people; empty for null
  std::string fault;
};

// The value for people: its text, "null", or the fault in angle brackets.
std::string shown_text(const InspectedValue& value);
// "Ns.Circle (Ns.Shape)": the type that an object has, and the declared one where it differs.
std::string shown_type(const InspectedValue& value);

struct InspectedField {
  std::string name;         // as in metadata
  std::string property;     // that only returns this field; empty: none
  std::string declared_in;  // the type that declares the field
  std::uint32_t offset = 0; // bytes from the object's address, or from the start of the value
  InspectedValue value;
  std::vector<InspectedField> fields; // of a structure
};

struct InspectedItem {
  std::optional<InspectedValue> key; // of a dictionary's entry
  InspectedValue value;
};

struct InspectedObject {
  Address address = 0, method_table = 0;
  std::string type;
  std::uint64_t size = 0; // bytes in the heap, padding included
  std::string text;       // for people, as in ObjectReader::describe_object
  // Those of the base classes come first; empty for arrays and strings.
  std::vector<InspectedField> fields;
  // Of arrays and of the framework's collections.
  std::vector<InspectedItem> items;
  std::optional<std::uint64_t> item_count; // nothing: it has no elements
  std::string fault;                       // why fields or items are missing
};

struct InspectionLimits {
  TextLimits text;              // of each value
  std::uint64_t items = 100;    // of an array or collection
  unsigned structure_depth = 8; // structures within structures
  // Asked now and then while elements are read: true gives up, and the answer says so. May be empty.
  std::function<bool()> stop = {};

  static constexpr std::uint64_t max_items = 1'000'000;
  static constexpr std::size_t max_fields = 20'000; // of one object, those of its structures included
};

// Throws Error{corrupt} when what lies before `object` cannot be an object's header: on 64 bits its first
// half is 0 (src/coreclr/vm/syncblk.h, ObjHeader). So words within objects that happen to hold a type are
// told from objects. 1 read.
void require_object_header(const Target& target, Address object);

// The object at `object`, whose header is looked at. Parts that cannot be read say so; throws Error{corrupt}
// when no object is there and Error{memory_missing} when its first words are missing. Cost: some 3 reads for
// each field and element, and those of TypeLayouts::of for each new type.
InspectedObject inspect_object(ObjectReader& reader, Address object, const InspectionLimits& limits);

// The bytes at `object` as an instance of `method_table`, whatever its first word says.
InspectedObject inspect_object_as(ObjectReader& reader, Address object, Address method_table,
                                  const InspectionLimits& limits);

// The value of type `type` at `at`. Never throws. Cost: some 3 reads.
InspectedValue inspect_value(ObjectReader& reader, const TypeUse& type, Address at, const TextLimits& limits);
// The fields of a structure at `at`, those of a tuple by the names of its elements; empty for other types.
// Where there are more than max_fields, the last one is called "..." and its value's fault says so. Never
// throws.
std::vector<InspectedField> inspect_structure(ObjectReader& reader, const TypeUse& type, Address at,
                                              const InspectionLimits& limits);

} // namespace clr
