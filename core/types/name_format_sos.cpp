// The form of SOS, ClrMD and dotnet-dump. Two writers, each with its own rules: type names with escapes and
// bracketed arguments for the owner and for the method's arguments, and a terse writer for parameter lists.
#include "core/types/name_writer.h"

namespace clr {
namespace {

constexpr std::string_view core_library = "System.Private.CoreLib";
constexpr std::uint8_t convention_mask = 0xf, vararg = 5;

// Source: src/coreclr/vm/typestring.cpp, which TypeNameBuilder.cs follows.
class TypeWriter {
public:
  explicit TypeWriter(NameWriter& out) : out_(out) {}

  void type(const TypeName& wrapped) {
    const NameWriter::Level level(out_);
    if (level.too_deep()) return out_.put("...");
    const TypeName& t = unwrapped(wrapped);
    switch (t.shape) {
    case TypeShape::primitive:
      out_.put("System.");
      return out_.put(framework_name(t.element_type));
    case TypeShape::definition:
      return definition(t);
    case TypeShape::instance:
      element(t);
      return arguments(t.arguments);
    case TypeShape::szarray:
      element(t);
      return out_.put("[]");
    case TypeShape::array:
      element(t);
      return dimensions(t.rank);
    case TypeShape::pointer:
      element(t);
      return out_.put('*');
    case TypeShape::byref:
      element(t);
      return out_.put('&');
    case TypeShape::native_valuetype:
      out_.put("VALUETYPE");
      return element(t);
    case TypeShape::function_pointer:
      element(t);
      out_.put('(');
      for (std::size_t i = 0; i < t.arguments.size() && !out_.full(); ++i) {
        if (i != 0) out_.put(", ");
        if (t.arguments[i] != nullptr) type(*t.arguments[i]);
      }
      if ((t.header & convention_mask) == vararg) out_.put(t.arguments.size() > 1 ? ", ..." : "...");
      return out_.put(')');
    case TypeShape::variable:
      return variable(t);
    case TypeShape::modified:
    case TypeShape::pinned:
      return element(t);
    case TypeShape::unknown:
      return out_.put("(null)");
    }
  }

  // Writes "[[Ns.A, Assembly],T]": an argument with an assembly has its own brackets, a bare type variable
  // has none.
  void arguments(const std::vector<TypeNamePtr>& list) {
    out_.put('[');
    for (std::size_t i = 0; i < list.size() && !out_.full(); ++i) {
      if (i != 0) out_.put(',');
      if (list[i] == nullptr) {
        out_.put("(null)");
        continue;
      }
      const TypeName& argument = unwrapped(*list[i]);
      const std::string_view assembly = assembly_of(argument);
      if (assembly.empty()) {
        type(argument);
        continue;
      }
      out_.put('[');
      type(argument);
      out_.put(", ");
      escaped(assembly, "]");
      out_.put(']');
    }
    out_.put(']');
  }

private:
  void element(const TypeName& t) {
    if (t.element != nullptr)
      type(*t.element);
    else
      out_.put("(null)");
  }

  void escaped(std::string_view text, std::string_view reserved) {
    for (std::size_t at = text.find_first_of(reserved); at != std::string_view::npos;
         at = text.find_first_of(reserved)) {
      out_.put(text.substr(0, at));
      out_.put('\\');
      out_.put(text[at]);
      text.remove_prefix(at + 1);
    }
    out_.put(text);
  }

  void definition(const TypeName& t) {
    static constexpr std::string_view reserved = ",[]&*+\\";
    if (t.chain.empty()) return out_.put("(dynamicClass)");
    if (!t.name_space.empty()) {
      escaped(t.name_space, reserved);
      out_.put('.');
    }
    for (std::size_t i = 0; i < t.chain.size() && !out_.full(); ++i) {
      if (i != 0) out_.put('+');
      escaped(t.chain[i], reserved);
    }
  }

  void variable(const TypeName& t) {
    if (!t.name.empty()) return out_.put(t.name);
    out_.put(t.method_variable ? "!!" : "!");
    out_.put_number(t.index);
  }

  void dimensions(std::uint32_t rank) {
    constexpr std::uint32_t written_out = 64;
    if (rank == 0) return;
    out_.put('[');
    if (rank == 1) out_.put('*');
    if (rank > written_out)
      out_.put_number(rank);
    else
      for (std::uint32_t i = 1; i < rank; ++i) out_.put(',');
    out_.put(']');
  }

  // The assembly that SOS shows for the type; for an array, the assembly of its element.
  static std::string_view assembly_of(const TypeName& type) {
    const TypeName* t = &unwrapped(type);
    for (unsigned depth = 0; depth < max_type_name_depth; ++depth) {
      if (t->shape == TypeShape::definition) return t->assembly;
      if (t->shape == TypeShape::primitive) return core_library;
      if (t->shape == TypeShape::variable || t->element == nullptr) return {};
      t = &unwrapped(*t->element);
    }
    return {};
  }

  NameWriter& out_;
};

// Source: src/coreclr/vm/sigformat.cpp, which SigFormat.cs follows. `from_handle`: the type is a TypeHandle
// of the runtime (an argument that stands for a variable); there a primitive is recognised by its definition.
class ParameterWriter {
public:
  explicit ParameterWriter(NameWriter& out) : out_(out) {}

  void type(const TypeName& t, bool from_handle) {
    const NameWriter::Level level(out_);
    if (level.too_deep()) return out_.put("...");
    if (t.internal && !from_handle) return internal(t);
    switch (t.shape) {
    case TypeShape::primitive:
      if (t.element_type == ElementType::string || t.element_type == ElementType::object) out_.put("System.");
      return out_.put(framework_name(t.element_type));
    case TypeShape::definition:
      return definition(t, from_handle);
    case TypeShape::instance: {
      element(t, from_handle);
      out_.put('<');
      list(t.arguments, ",", from_handle);
      return out_.put('>');
    }
    case TypeShape::szarray:
      element(t, from_handle);
      return out_.put("[]");
    case TypeShape::array:
      element(t, from_handle);
      out_.put('[');
      for (std::uint32_t i = 1; i < t.rank && !out_.full(); ++i) out_.put(',');
      return out_.put(']');
    case TypeShape::pointer:
      element(t, from_handle);
      return out_.put('*');
    case TypeShape::byref:
      element(t, from_handle);
      return out_.put(" ByRef");
    case TypeShape::function_pointer:
      element(t, from_handle);
      out_.put(" (");
      list(t.arguments, ", ", from_handle);
      if ((t.header & convention_mask) == vararg) out_.put(t.arguments.empty() ? "..." : ", ...");
      return out_.put(')');
    case TypeShape::variable:
      if (t.element != nullptr) return type(*t.element, true);
      if (from_handle && !t.name.empty()) return out_.put(t.name);
      out_.put("!!");
      return out_.put_number(t.index);
    case TypeShape::modified:
    case TypeShape::pinned:
    case TypeShape::native_valuetype:
      return element(t, from_handle);
    case TypeShape::unknown:
      return out_.put("**UNKNOWN TYPE**");
    }
  }

  void list(const std::vector<TypeNamePtr>& types, std::string_view separator, bool from_handle) {
    for (std::size_t i = 0; i < types.size() && !out_.full(); ++i) {
      if (i != 0) out_.put(separator);
      type(types[i] != nullptr ? *types[i] : *unknown_type(), from_handle);
    }
  }

private:
  void element(const TypeName& t, bool from_handle) {
    type(t.element != nullptr ? *t.element : *unknown_type(), from_handle);
  }

  void definition(const TypeName& t, bool from_handle) {
    if (from_handle) {
      const ElementType primitive = primitive_of(t);
      if (primitive != ElementType::end && primitive != ElementType::string &&
          primitive != ElementType::object)
        return out_.put(framework_name(primitive));
    }
    // Only the name and namespace of this row: a nested type has no namespace of its own.
    if (t.chain.size() == 1 && !t.name_space.empty()) {
      out_.put(t.name_space);
      out_.put('.');
    }
    if (!t.chain.empty()) out_.put(t.chain.back());
  }

  // Writes a type that stands as a raw TypeHandle in the signature.
  void internal(const TypeName& t) {
    switch (t.shape) {
    case TypeShape::pointer:
    case TypeShape::function_pointer:
      return out_.put("System.UIntPtr");
    case TypeShape::primitive:
      out_.put("System.");
      return out_.put(framework_name(t.element_type));
    case TypeShape::definition:
      return definition(t, false);
    case TypeShape::instance:
      if (const TypeName* of = definition_of(t)) return definition(*of, false);
      return out_.put("**UNKNOWN TYPE**");
    case TypeShape::native_valuetype:
      if (t.element != nullptr)
        if (const TypeName* of = definition_of(*t.element)) return definition(*of, false);
      return out_.put("**UNKNOWN TYPE**");
    default:
      return type(t, true);
    }
  }

  NameWriter& out_;
};

} // namespace

std::string format_sos_name(const QualifiedMethodName& name) {
  NameWriter out;
  TypeWriter types(out);
  if (name.container == MethodContainer::dynamic_class)
    out.put("DynamicClass");
  else if (name.container == MethodContainer::il_stub_class)
    out.put("ILStubClass");
  else if (name.declaring_type != nullptr)
    types.type(*name.declaring_type);
  out.put('.');
  out.put(name.method);
  if (!name.method_arguments.empty()) types.arguments(name.method_arguments);
  if (!name.signature_known) return out.take();
  out.put('(');
  ParameterWriter(out).list(name.parameters, ", ", false);
  if ((name.signature_header & convention_mask) == vararg) out.put(name.parameters.empty() ? "..." : ", ...");
  out.put(')');
  return out.take();
}

std::string format_sos_type(const TypeName& type) {
  NameWriter out;
  TypeWriter(out).type(type);
  return out.take();
}

} // namespace clr
