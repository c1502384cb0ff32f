// The names of methods and types: one value that holds everything a method's name can say, and the forms that
// are made from it. Pure functions: no reads. Sources of the forms: dotnet/runtime
// src/coreclr/vm/typestring.cpp, src/coreclr/vm/sigformat.cpp and their readers in
// src/native/managed/cdac/*.Legacy (TypeNameBuilder.cs, SigFormat.cs) for SOS; src/coreclr/inc/formattype.cpp
// for the IL spelling of method events and perf maps.
#pragma once

#include "core/types/shared_text.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct TypeName;
// Types are immutable and shared: a cache may use the same definition in thousands of names.
using TypeNamePtr = std::shared_ptr<const TypeName>;

enum class TypeShape : std::uint8_t {
  unknown,          // prints as "?" (SOS: "**UNKNOWN TYPE**")
  primitive,        // element_type
  definition,       // name_space, chain, assembly, scope, value_type, parameter_names
  instance,         // element = the definition, arguments = those of the whole chain, outermost first
  szarray,          // element[]
  array,            // element[,]; rank, bounds
  pointer,          // element*
  byref,            // element&
  function_pointer, // element = return type, arguments = parameters, header
  variable,         // a type parameter of the class, or of the method (method_variable): index, name;
                    // element = the argument that stands for it, null when not known
  modified,         // element with the modifier arguments[0]; required: modreq
  pinned,           // element
  native_valuetype, // the marshalled view of the struct `element`
};

// ELEMENT_TYPE_* of the primitives, ECMA-335 II.23.1.16.
enum class ElementType : std::uint8_t {
  end = 0x00,
  void_ = 0x01,
  boolean = 0x02,
  char_ = 0x03,
  i1 = 0x04,
  u1 = 0x05,
  i2 = 0x06,
  u2 = 0x07,
  i4 = 0x08,
  u4 = 0x09,
  i8 = 0x0a,
  u8 = 0x0b,
  r4 = 0x0c,
  r8 = 0x0d,
  string = 0x0e,
  typed_reference = 0x16,
  native_int = 0x18,
  native_uint = 0x19,
  object = 0x1c,
};

// The text of a type in the C#-like form, made when it is first printed: the names of tens of thousands of
// methods consist of few types. For any thread. A copy of a type begins without it, because it may be
// changed.
class PrintedType {
public:
  PrintedType() = default;
  PrintedType(const PrintedType&) {}
  PrintedType& operator=(const PrintedType&) { return *this; }
  ~PrintedType() { delete[] text_.load(std::memory_order_relaxed); }

  struct Text {
    std::string_view text;
    unsigned depth = 0; // levels of nesting below the type
  };
  // Bytes; longer texts are not kept. As a text's depth, its length fits into a byte in front of it.
  static constexpr std::size_t max_length = 255;
  // Nothing before keep(). Valid as long as this.
  std::optional<Text> get() const {
    const char* const kept = text_.load(std::memory_order_acquire);
    if (kept == nullptr) return std::nullopt;
    return Text{{kept + 2, static_cast<unsigned char>(kept[0])}, static_cast<unsigned char>(kept[1])};
  }
  void keep(const Text& text) const; // of at most max_type_name_depth levels

private:
  mutable std::atomic<const char*> text_{nullptr}; // its length, its depth, and the text
};

// The sizes and lower bounds of an array's first dimensions, as far as its signature gives them.
struct ArrayBounds {
  std::vector<std::uint32_t> sizes;
  std::vector<std::int32_t> lower;
};

// Tens of thousands are kept, so its parts are small, or shared.
struct TypeName {
  TypeShape shape = TypeShape::unknown;
  ElementType element_type = ElementType::end;

  SharedText name_space;          // of the outermost type: "System.Collections.Generic"
  std::vector<std::string> chain; // names as in metadata, outermost first: "List`1", "Enumerator"
  SharedText assembly;            // simple name of the defining assembly, when known
  SharedText scope; // simple name of the AssemblyRef through which a signature names the type; "" within
                    // its own module
  std::optional<bool> value_type;
  std::vector<SharedText> parameter_names; // of the whole chain; needed only to print an open definition

  TypeNamePtr element;
  std::vector<TypeNamePtr> arguments;

  std::uint32_t rank = 0;
  std::shared_ptr<const ArrayBounds> bounds; // of an array in a signature that gives some; null: none

  std::uint8_t header = 0; // of a function pointer's signature: calling convention in the low 4 bits

  std::uint32_t index = 0;
  bool method_variable = false;
  SharedText name; // of a variable: "TKey"; empty when not known

  bool required = false;
  // The type stood as a raw TypeHandle (`handle`) inside a signature that the runtime itself made
  // (ELEMENT_TYPE_INTERNAL). SOS prints such types by special rules.
  bool internal = false;
  std::uint64_t handle = 0;

  PrintedType printed = {};
};

// Shared nodes for the primitives; never null. A shape of `unknown` for an `element_type` outside the
// enumeration.
TypeNamePtr primitive_type(ElementType element_type);
TypeNamePtr unknown_type();
TypeNamePtr make_type(TypeName type);
// The definition instantiated over `arguments`; the definition itself when there are no arguments.
TypeNamePtr instantiate(TypeNamePtr definition, std::vector<TypeNamePtr> arguments);
TypeNamePtr szarray_of(TypeNamePtr element);
// Bytes of memory that a type takes, without those of the types that it is made of.
std::size_t size_in_memory(const TypeName& type);

// The text in front of the method's name when no type in metadata declares the method.
enum class MethodContainer : std::uint8_t { type, dynamic_class, il_stub_class };

// Everything that the name of a method can show.
struct QualifiedMethodName {
  MethodContainer container = MethodContainer::type;
  TypeNamePtr declaring_type; // definition (open or not generic), instance or array; null when not known
  std::string method;         // as in metadata: "Run", ".ctor", "Ns.IFace.Run"; for arrays "Get"...
  std::vector<TypeNamePtr> method_arguments;      // empty: not generic, or the definition
  std::vector<SharedText> method_parameter_names; // of an open generic method definition: "T", "TKey"
  SharedText module;                              // simple name of the assembly, for the perf-map form

  std::string signature_fault;       // why the signature is not known
  bool signature_known = false;      // the members below are valid
  std::uint8_t signature_header = 0; // 0x20 instance, 0x40 explicit this, 0x10 generic, low 4 bits convention
  TypeNamePtr return_type;
  std::vector<TypeNamePtr> parameters;   // without `this`
  std::optional<std::uint32_t> sentinel; // a vararg call site's "..." stands before this parameter
};

// (a) The C#-like form "Ns.Outer.Inner<int>.Run<string>(int, string[])". Constructors keep ".ctor" and
// ".cctor": "Ns.Type..ctor(int)". The parameter list is "(???)" when the signature is not known.
std::string format_full_name(const QualifiedMethodName& name);
// (b) The form of SOS, dotnet-dump and ClrMD:
// "Ns.Outer`1+Inner[[System.Int32, System.Private.CoreLib]].Run(Int32, System.String[])". It has no parameter
// list when the signature is not known.
std::string format_sos_name(const QualifiedMethodName& name);
// (c) The form that is made from the three fields of a method load event: ".ctor" becomes the type with its
// parameters; parameters are in IL spelling, "(???)" when the signature is not known.
std::string format_event_name(const QualifiedMethodName& name);
// (d) The short form "Ns.Outer`1+Inner.Run": no generic arguments, no parameters.
std::string format_short_name(const QualifiedMethodName& name);
// (e) The form of the runtime's perf map, without the tier: "instance void [app] Ns.Type::Run(string[])". It
// includes the spelling of handles in dynamic methods ("/* MT: 0x... */").
std::string format_perf_map_name(const QualifiedMethodName& name);

// (f) The form of the maps that crossgen2 makes of ReadyToRun images: "Ret Ns.Outer+Inner[A, B]::Run(P1,
// P2)". It has no return type for void and no arguments of a generic method; type parameters are replaced by
// their arguments.
std::string format_r2r_map_name(const QualifiedMethodName& name);

// The fields of a method load event.
struct EventFields {
  std::string type_name; // "Ns.Outer`1+Inner[System.Int32]"
  std::string method_name;
  std::string signature; // "instance void  (int32)": two spaces before the parenthesis; "" when not known
};
EventFields event_fields(const QualifiedMethodName& name);

// The name of a type alone: the full C#-like form "Ns.Outer.Inner<int>[]", and the SOS form.
std::string format_type(const TypeName& type);
std::string format_sos_type(const TypeName& type);

// "app.dll!0x06000123": the name of a method when nothing better is known.
std::string format_token_name(std::string_view module, std::uint32_t token);

// Limits against hostile trees: deeper types print as "..."; longer names are cut and end with "...".
constexpr unsigned max_type_name_depth = 64;
constexpr std::size_t max_name_length = 16'384;

} // namespace clr
