// The parts of an object or value, as a debugger shows them below it: the fields of the type that the object
// has and of its base types, the elements of an array, the items of a collection.
#pragma once

#include "core/objects/collections.h"
#include "core/objects/tuple_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clr {

struct ValuePart {
  std::string name; // "Radius", of an element "[3]", of a dictionary's entry "["tea"]"
  TypeUsePtr type;  // never null
  Address at = 0;
  // Not empty: the part is an array of such values, one behind the other, with these lengths: a row of an
  // array of several dimensions.
  std::vector<std::uint32_t> lengths = {};
};

class ValueParts {
public:
  // Of the object at `object`: by the type that it has, not by a declared one; a boxed value has the parts of
  // the value. Of the value of type `method_table` whose bytes are at `at`. Both throw as
  // ObjectReader::method_table_of and TypeLayouts::of do. Cost: 2 reads, and those of the layouts; fields
  // that are inherited stand before the others, those of one type in the order of their declaration.
  static ValueParts of_object(ObjectReader& reader, Address object);
  static ValueParts of_value(ObjectReader& reader, Address method_table, Address at);

  // What the declared type of the array or collection says of its items' names.
  void set_names(std::vector<NamedArgument> names) { names_ = std::move(names); }

  // Strings, numbers and enumerations have none.
  std::uint64_t count() const { return count_; }
  // Nothing from count() on, and where a collection has fewer items than it says. `reader` is one of the stop
  // of which the parts are. Throws Error when a collection cannot be walked. No reads for fields and
  // elements; items of a collection are walked to once, and kept up to max_kept.
  std::optional<ValuePart> at(ObjectReader& reader, std::uint64_t index);
  // The index of the part that is called so. Items of collections are found among those that are kept.
  std::optional<std::uint64_t> find(std::string_view name) const;

  // The parts are fields: all of them are known.
  const std::vector<ValuePart>& fields() const { return kept_; }

  static constexpr std::size_t max_fields = 4'096;   // of one object, those of its base types included
  static constexpr std::uint64_t max_kept = 100'000; // items of a collection; no more can be asked for

private:
  enum class Kind : std::uint8_t { fields, elements, items };

  void set(ObjectReader& reader, const TypeLayout& layout, Address at);
  void set_repeated(const TypeLayout& layout, Address at);
  void set_array(const Target& target, const TypeLayout& layout, Address object);
  void add_fields(ObjectReader& reader, const TypeLayout& layout, Address at);
  void walk(ObjectReader& reader, std::uint64_t wanted);
  std::string bracketed(std::uint64_t index) const;

  Kind kind_ = Kind::fields;
  std::uint64_t count_ = 0;
  std::vector<ValuePart> kept_; // fields, or the first items
  // Of elements: the type, where the first one is, the bytes from one to the next, the lengths of a row, the
  // index of the first.
  TypeUsePtr element_;
  Address first_ = 0;
  std::uint64_t stride_ = 0;
  std::vector<std::uint32_t> lengths_;
  std::int32_t lower_ = 0;
  Address method_table_ = 0, value_ = 0; // of a collection
  std::vector<NamedArgument> names_;
};

} // namespace clr
