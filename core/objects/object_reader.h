// Managed objects and values as people want to read them.
// Source of the layouts: the runtime's own, see type_layout.h; fields of the framework's types by name:
// dotnet/runtime src/libraries/System.Private.CoreLib.
#pragma once

#include "core/objects/type_layout.h"

namespace clr {

// How much of a value is told. What is cut ends with "...".
struct TextLimits {
  std::size_t string_units = 256; // UTF-16 code units of one string
  std::size_t elements = 8;       // of an array or collection; fields of a structure
  unsigned depth = 3;             // values within values
  std::size_t text = 4'096;       // bytes of the whole answer

  static constexpr std::size_t max_string_units = 1'000'000;
  static constexpr unsigned max_depth = 32;
};

class ObjectReader {
public:
  // Both must outlive this. No reads.
  ObjectReader(const Target& target, MethodNames& names)
      : target_(&target), finder_(target, names), layouts_(finder_) {}
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  // --- For people. Never throw: what is damaged or missing is told in the text, in angle brackets. Cycles
  // are not followed. Cost: some 5 reads for each object or value that is told, and that of TypeLayouts::of
  // for each new type.

  // The object at `object`: "null", "\"text\"", "int[3] {1, 2, 3}", "Count = 2 {5, 6}", of a boxed value
  // "(int) 42", of an exception its message, of a delegate its method, of anything else "{Ns.Type}".
  std::string describe_object(Address object, const TextLimits& limits = {});
  // The value of a variable, field or element of type `type` at `address`: "42", "Blue", "{X = 1, Y = 2}", of
  // a reference what it refers to.
  std::string describe_value(const TypeUse& type, Address address, const TextLimits& limits = {});

  // The MethodTable of the object at `object`. Throws Error{memory_missing}, Error{corrupt} for what cannot
  // be an object. 1 read.
  Address method_table_of(Address object) const;

  // Forgets what was read of types: the process ran.
  void forget() {
    layouts_.forget();
    finder_.forget();
  }

  TypeFinder& finder() { return finder_; }
  TypeLayouts& layouts() { return layouts_; }

private:
  const Target* target_;
  TypeFinder finder_;
  TypeLayouts layouts_;
};

} // namespace clr
