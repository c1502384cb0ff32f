// The type of a variable, a field or an element: it tells the meaning of its bytes.
#pragma once

#include "core/memory/platform.h"
#include "core/types/name_format.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace clr {

struct TypeUse;
// Immutable and shared; never null in the answers of this room.
using TypeUsePtr = std::shared_ptr<const TypeUse>;

struct TypeUse {
  enum class Kind : std::uint8_t {
    unknown,   // not even its size is known
    nothing,   // void
    number,    // `number`: boolean, char, integers, floating point, native integers
    value,     // of a value type, including enumerations: the bytes themselves
    reference, // to an object of a class or interface
    array,     // reference to an array of `element`
    pointer,   // unmanaged pointer or function pointer
    byref,     // managed pointer
  };
  Kind kind = Kind::unknown;
  ElementType number = ElementType::end;
  // The loaded type, if the runtime has loaded it; 0: not known. Always set for `value`.
  Address method_table = 0;
  TypeUsePtr element;     // of pointers, byrefs and arrays; null: not known
  std::uint32_t rank = 0; // of arrays
  bool vector = false;    // T[], which begins at 0 and stores no bounds
  bool canonical = false; // stands for any reference type in shared generic code; method_table is Object's
  TypeNamePtr name;       // never null
  // The names of a tuple's elements, see tuple_names.h; null: they have none.
  std::shared_ptr<const std::vector<std::string>> tuple_names = nullptr;
  bool names_within = false; // no tuple, but `name` has names of elements of tuples within it

  bool is_reference() const { return kind == Kind::reference || kind == Kind::array; }
};

// Bytes of a number; 0 when it is no number. Native integers take `pointer_size`.
std::uint32_t size_of_number(ElementType number, unsigned pointer_size);
bool is_signed_number(ElementType number);

// The shared use of a primitive; Kind::unknown for any other type.
TypeUsePtr number_use(ElementType number);
TypeUsePtr unknown_use(TypeNamePtr name = nullptr);

} // namespace clr
