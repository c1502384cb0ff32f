// The forms in IL spelling, for method load events and perf maps. Source: src/coreclr/inc/formattype.cpp for
// signatures, src/coreclr/vm/typestring.cpp for the type in front.
#include "core/types/name_writer.h"

#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

// Writes the declaring type: "Ns.Outer`1+Inner[System.Int32,T]".
class OwnerWriter {
public:
  explicit OwnerWriter(NameWriter& out) : out_(out) {}

  void type(const TypeName& wrapped) {
    const NameWriter::Level level(out_);
    if (level.too_deep()) return out_.put("...");
    const TypeName& t = unwrapped(wrapped);
    switch (t.shape) {
    case TypeShape::definition:
      put_definition_name(out_, t, '+');
      if (!t.parameter_names.empty()) {
        out_.put('[');
        for (std::size_t i = 0; i < t.parameter_names.size() && !out_.full(); ++i) {
          if (i != 0) out_.put(',');
          out_.put(t.parameter_names[i]);
        }
        out_.put(']');
      }
      return;
    case TypeShape::instance:
      if (const TypeName* of = definition_of(t)) put_definition_name(out_, *of, '+');
      out_.put('[');
      for (std::size_t i = 0; i < t.arguments.size() && !out_.full(); ++i) {
        if (i != 0) out_.put(',');
        if (t.arguments[i] != nullptr) type(*t.arguments[i]);
      }
      return out_.put(']');
    case TypeShape::szarray:
      element(t);
      return out_.put("[]");
    case TypeShape::pointer:
      element(t);
      return out_.put('*');
    case TypeShape::byref:
      element(t);
      return out_.put('&');
    case TypeShape::array: {
      element(t);
      out_.put('[');
      if (t.rank == 1) out_.put('*');
      for (std::uint32_t i = 1; i < t.rank && !out_.full(); ++i) out_.put(',');
      return out_.put(']');
    }
    default:
      return out_.put(format_sos_type(t));
    }
  }

private:
  void element(const TypeName& t) {
    if (t.element != nullptr) type(*t.element);
  }

  NameWriter& out_;
};

class SignatureWriter {
public:
  explicit SignatureWriter(NameWriter& out) : out_(out) {}

  void header(std::uint8_t header) {
    static constexpr std::array<std::string_view, 10> conventions{"",
                                                                  "unmanaged cdecl ",
                                                                  "unmanaged stdcall ",
                                                                  "unmanaged thiscall ",
                                                                  "unmanaged fastcall ",
                                                                  "vararg ",
                                                                  "",
                                                                  "",
                                                                  "",
                                                                  "unmanaged "};
    constexpr std::uint8_t explicit_this = 0x40, has_this = 0x20, convention_mask = 0xf;
    if ((header & explicit_this) != 0) out_.put("explicit ");
    if ((header & has_this) != 0) out_.put("instance ");
    const std::uint8_t convention = header & convention_mask;
    if (convention < conventions.size() && (convention < 6 || convention > 8))
      out_.put(conventions[convention]);
    else
      out_.put(fmt::format("callconv({}) ", convention));
  }

  void parameters(const std::vector<TypeNamePtr>& list, std::optional<std::uint32_t> sentinel) {
    out_.put('(');
    for (std::size_t i = 0; i < list.size() && !out_.full(); ++i) {
      if (i != 0) out_.put(',');
      if (sentinel == i) out_.put("...,");
      type(list[i]);
    }
    out_.put(')');
  }

  void type(const TypeNamePtr& pointer) {
    const NameWriter::Level level(out_);
    if (pointer == nullptr) return out_.put("/* UNKNOWN TYPE */");
    if (level.too_deep()) return out_.put("...");
    const TypeName& t = *pointer;
    if (t.internal) return internal(t);
    switch (t.shape) {
    case TypeShape::unknown:
      return out_.put("/* UNKNOWN TYPE */");
    case TypeShape::primitive:
      return out_.put(primitive(t.element_type));
    case TypeShape::definition:
      out_.put(t.value_type.value_or(false) ? "valuetype " : "class ");
      return reference(t);
    case TypeShape::instance: {
      type(t.element);
      out_.put('<');
      for (std::size_t i = 0; i < t.arguments.size() && !out_.full(); ++i) {
        if (i != 0) out_.put(',');
        type(t.arguments[i]);
      }
      return out_.put('>');
    }
    case TypeShape::szarray:
      type(t.element);
      return out_.put("[]");
    case TypeShape::array:
      type(t.element);
      return dimensions(t);
    case TypeShape::pointer:
      type(t.element);
      return out_.put('*');
    case TypeShape::byref:
      type(t.element);
      return out_.put('&');
    case TypeShape::pinned:
      type(t.element);
      return out_.put(" pinned");
    case TypeShape::native_valuetype:
      type(t.element);
      return out_.put("_NativeValueType");
    case TypeShape::variable:
      out_.put(t.method_variable ? "!!" : "!");
      return out_.put_number(t.index);
    case TypeShape::modified:
      type(t.element);
      out_.put(t.required ? " modreq(" : " modopt(");
      if (!t.arguments.empty() && t.arguments[0] != nullptr) {
        const TypeName& modifier = *t.arguments[0];
        if (modifier.shape == TypeShape::definition)
          reference(modifier);
        else
          type(t.arguments[0]);
      }
      return out_.put(')');
    case TypeShape::function_pointer:
      out_.put("method ");
      header(t.header);
      type(t.element);
      out_.put(" *");
      return parameters(t.arguments, std::nullopt);
    }
  }

private:
  static std::string_view primitive(ElementType element_type) {
    switch (element_type) {
    case ElementType::void_:
      return "void";
    case ElementType::boolean:
      return "bool";
    case ElementType::char_:
      return "char";
    case ElementType::i1:
      return "int8";
    case ElementType::u1:
      return "uint8";
    case ElementType::i2:
      return "int16";
    case ElementType::u2:
      return "uint16";
    case ElementType::i4:
      return "int32";
    case ElementType::u4:
      return "uint32";
    case ElementType::i8:
      return "int64";
    case ElementType::u8:
      return "uint64";
    case ElementType::r4:
      return "float32";
    case ElementType::r8:
      return "float64";
    case ElementType::string:
      return "string";
    case ElementType::typed_reference:
      return "typedref";
    case ElementType::native_int:
      return "native int";
    case ElementType::native_uint:
      return "native uint";
    case ElementType::object:
      return "object";
    case ElementType::end:
      break;
    }
    return "/* UNKNOWN TYPE */";
  }

  // Writes "[System.Runtime]System.Collections.Generic.List`1/Enumerator".
  void reference(const TypeName& definition) {
    if (!definition.scope.empty()) {
      out_.put('[');
      out_.put(definition.scope);
      out_.put(']');
    }
    put_definition_name(out_, definition, '/');
  }

  void dimensions(const TypeName& t) {
    out_.put('[');
    if (t.rank == 1 && !t.bounds) out_.put("...");
    static const ArrayBounds none;
    const auto& [sizes, lower] = t.bounds ? *t.bounds : none;
    for (std::uint32_t i = 0; i < t.rank && !out_.full(); ++i) {
      if (i != 0) out_.put(',');
      const std::int64_t low = i < lower.size() ? lower[i] : 0;
      if (low == 0 && i < sizes.size()) {
        out_.put_number(sizes[i]);
      } else if (i < lower.size()) {
        out_.put_number(low);
        out_.put("...");
        if (i < sizes.size()) out_.put_number(low + sizes[i] - 1);
      }
    }
    out_.put(']');
  }

  // A raw TypeHandle prints as its class, without arguments, and the MethodTable's address.
  void internal(const TypeName& t) {
    // Arrays have no token; the runtime prints this error for them, so we do too.
    if (t.shape == TypeShape::szarray || t.shape == TypeShape::array)
      return out_.put(fmt::format(" [ERROR: INVALID TOKEN 0x02000000]  /* MT: {:#x} */", t.handle));
    const TypeName* of = definition_of(t);
    if (t.shape == TypeShape::native_valuetype && t.element != nullptr) of = definition_of(*t.element);
    if (of == nullptr) return out_.put("(null) /* MT: (nil) */");
    put_definition_name(out_, *of, '/');
    if (t.shape == TypeShape::native_valuetype) out_.put("_NativeValueType");
    out_.put(fmt::format(" /* MT: {:#x} */", t.handle));
  }

  NameWriter& out_;
};

void put_owner(NameWriter& out, const QualifiedMethodName& name) {
  if (name.container != MethodContainer::type)
    out.put("dynamicClass");
  else if (name.declaring_type != nullptr)
    OwnerWriter(out).type(*name.declaring_type);
}

std::string owner_text(const QualifiedMethodName& name) {
  NameWriter out;
  put_owner(out, name);
  return out.take();
}

} // namespace

EventFields event_fields(const QualifiedMethodName& name) {
  EventFields fields{owner_text(name), name.method, {}};
  if (name.signature_known) {
    NameWriter out;
    SignatureWriter writer(out);
    writer.header(name.signature_header);
    writer.type(name.return_type);
    out.put("  ");
    writer.parameters(name.parameters, name.sentinel);
    fields.signature = out.take();
  }
  return fields;
}

std::string format_event_name(const QualifiedMethodName& name) {
  NameWriter out;
  put_owner(out, name);
  if (name.method != ".ctor") {
    if (out.size() != 0) out.put('.');
    out.put(name.method);
  }
  if (name.signature_known)
    SignatureWriter(out).parameters(name.parameters, name.sentinel);
  else
    out.put(unknown_parameters);
  return out.take();
}

std::string format_perf_map_name(const QualifiedMethodName& name) {
  NameWriter out;
  SignatureWriter writer(out);
  if (name.signature_known) {
    writer.header(name.signature_header);
    writer.type(name.return_type);
    out.put(' ');
  }
  out.put('[');
  out.put(name.module.str());
  out.put("] ");
  put_owner(out, name);
  out.put("::");
  out.put(name.method);
  if (name.signature_known) writer.parameters(name.parameters, name.sentinel);
  return out.take();
}

} // namespace clr
