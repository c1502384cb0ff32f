// Texts of managed objects and values, for people.
// Source of the layouts: the runtime itself, see type_layout.h; fields of the framework's types by name:
// dotnet/runtime src/libraries/System.Private.CoreLib.
#pragma once

#include "core/objects/type_layout.h"

#include <exception>
#include <functional>
#include <map>

namespace clr {

// How much of a value is shown. A text that is cut ends with "...".
struct TextLimits {
  std::size_t string_units = 256; // UTF-16 code units of one string
  std::size_t elements = 8;       // of an array or collection, or fields of a structure
  unsigned depth = 3;             // values within values
  std::size_t text = 4'096;       // bytes of the whole answer
  // How many slots, nodes and entries of collections may yet be looked at: texts may share a limit, and each
  // takes off what it has used. Null: max_steps for this text alone.
  std::uint64_t* steps = nullptr;

  // Of all collections of one text: they may hold each other, and a tree of them ways without number.
  static constexpr std::uint64_t max_steps = 2'000'000;
  static constexpr std::uint64_t max_shared_steps = 10'000'000; // of all texts of one object's parts
  static constexpr std::size_t max_string_units = 1'000'000;
  static constexpr unsigned max_depth = 32;
  // Values within values, those that do not count for `depth` included: an option in an option.
  static constexpr unsigned max_nesting = 64;
};

struct UnionType; // of F#, see fsharp_union.h

class ObjectReader {
public:
  // `target` and `names` must outlive this. No reads.
  ObjectReader(const Target& target, MethodNames& names)
      : target_(&target), finder_(target, names), layouts_(finder_) {}
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  // --- Texts for people. These never throw: damaged or missing parts are described in the text, in angle
  // brackets. Cycles are not followed. Cost: some 5 reads for each object or value that is shown, and that of
  // TypeLayouts::of for each new type.

  // The text of the object at `object`: "null", "\"text\"", "int[3] {1, 2, 3}", "Count = 2 {5, 6}"; for a
  // boxed value "(int) 42", for an exception its message, for a delegate its method, for anything else
  // "{Ns.Type}".
  std::string describe_object(Address object, const TextLimits& limits = {});
  // The text of a variable, field or element of type `type` at `address`: "42", "Blue", "{X = 1, Y = 2}"; for
  // a reference, the text of the object.
  std::string describe_value(const TypeUse& type, Address address, const TextLimits& limits = {});

  // The MethodTable of the object at `object`. Throws Error{memory_missing}, and Error{corrupt} when no
  // object can be there. 1 read.
  Address method_table_of(Address object) const;

  // What F# says of the type; null: no union, or it cannot be read. Kept. Never throws. Cost: that of
  // read_union_type, see fsharp_union.h.
  const UnionType* union_of(const TypeLayout& layout);

  // The instance field of the type or of one of its base types that is called so, or that the property of
  // this name only returns; null: there is none. Kept. Throws as TypeLayouts::of does, of a base type. No
  // reads once the layouts are known.
  const FieldLayout* field_of(const TypeLayout& layout, std::string_view name);
  // The names of an enumeration's values, the greatest value first, and of names for the same value the first
  // one first. Kept. No reads.
  const std::vector<const objects::Enumerator*>& enumerators_of(const TypeLayout& layout);

  // Forgets everything about types, because the process ran.
  void forget() {
    unions_.clear();
    fields_.clear();
    known_fields_ = 0;
    enumerators_.clear();
    layouts_.forget();
    finder_.forget();
  }

  TypeFinder& finder() { return finder_; }
  TypeLayouts& layouts() { return layouts_; }

  static constexpr std::size_t max_known_fields = 100'000; // that were found by name, by type

private:
  struct KnownField {
    const FieldLayout* field = nullptr;
    std::exception_ptr fault; // of a base type; null: none
  };
  const Target* target_;
  TypeFinder finder_;
  TypeLayouts layouts_;
  std::unordered_map<Address, std::shared_ptr<const UnionType>> unions_; // by MethodTable
  std::map<std::string, std::unordered_map<const TypeLayout*, KnownField>, std::less<>> fields_; // by name
  std::size_t known_fields_ = 0;                                                                 // in fields_
  std::unordered_map<const TypeLayout*, std::vector<const objects::Enumerator*>> enumerators_;
};

} // namespace clr
