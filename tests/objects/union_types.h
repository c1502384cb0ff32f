// Unions as F# compiles them, for synthetic runtimes: a class with a class for each case, and a structure
// that has the fields of all its cases. Source: dotnet/fsharp src/Compiler/CodeGen/EraseUnions.fs.
#pragma once

#include "tests/objects/object_runtime.h"

#include <vector>

namespace clr::test {

class UnionTypes {
public:
  explicit UnionTypes(ObjectRuntime& runtime);

  // type Shape = Circle of radius: int | Rect of width: int * height: int | Empty
  Address shape = 0, circle = 0, rect = 0, empty = 0;
  // [<Struct>] type Reply = Good of value: int | Bad of int
  Address reply = 0;

  // An object of one of Shape's types, and a boxed Reply: the case's number, then the other fields.
  Address make(Address type, std::uint32_t tag, std::initializer_list<std::uint32_t> fields);

private:
  ObjectRuntime* r_;
};

// One sound object of each type above.
std::vector<Address> union_samples(UnionTypes& types);

} // namespace clr::test
