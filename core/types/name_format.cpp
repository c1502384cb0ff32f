#include "core/types/name_format.h"

#include "core/types/name_writer.h"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace clr {
namespace {

struct PrimitiveNames {
  ElementType element_type;
  std::string_view framework, keyword;
};

constexpr std::array primitives{
    PrimitiveNames{ElementType::void_, "Void", "void"},
    PrimitiveNames{ElementType::boolean, "Boolean", "bool"},
    PrimitiveNames{ElementType::char_, "Char", "char"},
    PrimitiveNames{ElementType::i1, "SByte", "sbyte"},
    PrimitiveNames{ElementType::u1, "Byte", "byte"},
    PrimitiveNames{ElementType::i2, "Int16", "short"},
    PrimitiveNames{ElementType::u2, "UInt16", "ushort"},
    PrimitiveNames{ElementType::i4, "Int32", "int"},
    PrimitiveNames{ElementType::u4, "UInt32", "uint"},
    PrimitiveNames{ElementType::i8, "Int64", "long"},
    PrimitiveNames{ElementType::u8, "UInt64", "ulong"},
    PrimitiveNames{ElementType::r4, "Single", "float"},
    PrimitiveNames{ElementType::r8, "Double", "double"},
    PrimitiveNames{ElementType::string, "String", "string"},
    PrimitiveNames{ElementType::typed_reference, "TypedReference", "System.TypedReference"},
    PrimitiveNames{ElementType::native_int, "IntPtr", "nint"},
    PrimitiveNames{ElementType::native_uint, "UIntPtr", "nuint"},
    PrimitiveNames{ElementType::object, "Object", "object"},
};

const PrimitiveNames* find_primitive(ElementType element_type) {
  for (const PrimitiveNames& p : primitives)
    if (p.element_type == element_type) return &p;
  return nullptr;
}

bool is_array(const TypeName& type) {
  return type.shape == TypeShape::szarray || type.shape == TypeShape::array;
}

// The arity in a metadata name ("Dictionary`2" -> 2), and the length of the name without it.
std::pair<std::size_t, std::size_t> split_arity(std::string_view name) {
  const std::size_t tick = name.rfind('`');
  if (tick == std::string_view::npos) return {0, name.size()};
  std::size_t arity = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + tick + 1, end, arity);
  if (error != std::errc() || stop != end) return {0, name.size()};
  return {arity, tick};
}

// Writes the C#-like form.
class CSharpWriter {
public:
  explicit CSharpWriter(NameWriter& out) : out_(out) {}

  void type(const TypeName& wrapped) {
    const NameWriter::Level level(out_);
    if (level.too_deep()) return out_.put("...");
    const TypeName& t = unwrapped(wrapped);
    if (t.shape == TypeShape::primitive) return unprinted(t);
    if (const auto known = t.printed.get(); known && out_.put_whole(known->text, known->depth)) return;
    const NameWriter::Part part = out_.begin_part();
    unprinted(t);
    if (const auto text = out_.end_part(part)) t.printed.keep(*text);
  }

  void types(const std::vector<TypeNamePtr>& list) {
    for (std::size_t i = 0; i < list.size() && !out_.full(); ++i) {
      if (i != 0) out_.put(", ");
      if (list[i] != nullptr)
        type(*list[i]);
      else
        out_.put('?');
    }
  }

  void type_arguments(const std::vector<TypeNamePtr>& arguments, const std::vector<SharedText>& names) {
    if (!arguments.empty()) {
      out_.put('<');
      types(arguments);
      out_.put('>');
    } else if (!names.empty()) {
      parameter_names(names, 0, names.size(), names.size());
    }
  }

private:
  // Writes a type whose text is not kept.
  void unprinted(const TypeName& t) {
    switch (t.shape) {
    case TypeShape::unknown:
      return out_.put('?');
    case TypeShape::primitive: {
      const PrimitiveNames* names = find_primitive(t.element_type);
      return out_.put(names != nullptr ? names->keyword : "?");
    }
    case TypeShape::definition:
      return definition(t, {});
    case TypeShape::instance:
      if (const TypeName* of = definition_of(t)) return definition(*of, t.arguments);
      return out_.put('?');
    case TypeShape::szarray:
    case TypeShape::array:
      return array(t);
    case TypeShape::pointer:
      element(t);
      return out_.put('*');
    case TypeShape::byref:
      out_.put("ref ");
      return element(t);
    case TypeShape::function_pointer:
      return function_pointer(t);
    case TypeShape::variable:
      if (!t.name.empty()) return out_.put(t.name);
      out_.put(t.method_variable ? "!!" : "!");
      return out_.put_number(t.index);
    case TypeShape::modified:
    case TypeShape::pinned:
    case TypeShape::native_valuetype:
      return element(t);
    }
  }

  void element(const TypeName& t) {
    if (t.element != nullptr)
      type(*t.element);
    else
      out_.put('?');
  }

  // C# writes the dimensions of the outermost array first: an array of two-dimensional arrays is "int[][,]".
  void array(const TypeName& t) {
    const TypeName* innermost = &t;
    for (unsigned depth = 0; is_array(*innermost) && innermost->element != nullptr; ++depth) {
      if (depth == max_type_name_depth) return out_.put("...");
      innermost = &unwrapped(*innermost->element);
    }
    if (is_array(*innermost))
      out_.put('?');
    else
      type(*innermost);
    for (const TypeName* a = &t; is_array(*a); a = &unwrapped(*a->element)) {
      out_.put('[');
      if (a->shape == TypeShape::array) {
        if (a->rank == 1) out_.put('*'); // not a vector
        for (std::uint32_t i = 1; i < a->rank && !out_.full(); ++i) out_.put(',');
      }
      out_.put(']');
      if (a->element == nullptr) break;
    }
  }

  void parameter_names(const std::vector<SharedText>& names, std::size_t first, std::size_t count,
                       std::size_t known) {
    out_.put('<');
    for (std::size_t i = 0; i < count && !out_.full(); ++i) {
      if (first + i < known) {
        if (i != 0) out_.put(", ");
        out_.put(names[first + i]);
      } else if (i != 0) {
        out_.put(','); // the C# form of an open type whose parameters have no names here: Dictionary<,>
      }
    }
    out_.put('>');
  }

  void definition(const TypeName& d, const std::vector<TypeNamePtr>& arguments) {
    if (arguments.empty()) {
      if (const PrimitiveNames* names = find_primitive(primitive_of(d))) return out_.put(names->keyword);
      if (d.name_space == "System" && d.chain.size() == 1 && d.chain[0] == "Decimal")
        return out_.put("decimal");
    }
    if (!d.name_space.empty()) {
      out_.put(d.name_space);
      out_.put('.');
    }
    std::size_t used = 0;
    for (std::size_t i = 0; i < d.chain.size() && !out_.full(); ++i) {
      if (i != 0) out_.put('.');
      const auto [named, length] = split_arity(d.chain[i]);
      // No type is without a name but in damaged metadata, where one would print as nothing at all.
      out_.put(length == 0 ? "?" : std::string_view(d.chain[i]).substr(0, length));
      if (!arguments.empty()) {
        // Arguments that no arity in the names accounts for belong to the innermost type.
        const std::size_t left = arguments.size() - used;
        const std::size_t count = i + 1 == d.chain.size() ? left : std::min(named, left);
        if (count == 0) continue;
        out_.put('<');
        for (std::size_t a = 0; a < count && !out_.full(); ++a) {
          if (a != 0) out_.put(", ");
          if (arguments[used + a] != nullptr)
            type(*arguments[used + a]);
          else
            out_.put('?');
        }
        out_.put('>');
        used += count;
      } else if (named != 0) {
        parameter_names(d.parameter_names, used, named, d.parameter_names.size());
        used += std::min(named, max_name_length);
      }
    }
  }

  void function_pointer(const TypeName& t) {
    static constexpr std::array<std::string_view, 16> conventions{"",
                                                                  " unmanaged[Cdecl]",
                                                                  " unmanaged[Stdcall]",
                                                                  " unmanaged[Thiscall]",
                                                                  " unmanaged[Fastcall]",
                                                                  "",
                                                                  "",
                                                                  "",
                                                                  "",
                                                                  " unmanaged"};
    out_.put("delegate*");
    out_.put(conventions[t.header & 0xf]);
    out_.put('<');
    types(t.arguments);
    if (!t.arguments.empty()) out_.put(", ");
    element(t);
    out_.put('>');
  }

  NameWriter& out_;
};

void put_container(NameWriter& out, const QualifiedMethodName& name) {
  if (name.container == MethodContainer::dynamic_class) out.put("DynamicClass.");
  if (name.container == MethodContainer::il_stub_class) out.put("ILStubClass.");
}

} // namespace

TypeNamePtr make_type(TypeName type) {
  return std::make_shared<const TypeName>(std::move(type));
}

std::size_t size_in_memory(const TypeName& type) {
  std::size_t size = sizeof(TypeName) + type.name_space.str().size() +
                     type.arguments.size() * sizeof(TypeNamePtr) +
                     type.parameter_names.size() * sizeof(SharedText);
  for (const std::string& part : type.chain) size += sizeof(std::string) + part.size();
  return size;
}

TypeNamePtr unknown_type() {
  static const TypeNamePtr unknown = make_type({});
  return unknown;
}

TypeNamePtr primitive_type(ElementType element_type) {
  static const auto nodes = [] {
    std::array<TypeNamePtr, 0x20> all;
    for (const PrimitiveNames& p : primitives)
      all[static_cast<std::size_t>(p.element_type)] =
          make_type({.shape = TypeShape::primitive, .element_type = p.element_type});
    return all;
  }();
  const std::size_t i = static_cast<std::size_t>(element_type);
  return i < nodes.size() && nodes[i] != nullptr ? nodes[i] : unknown_type();
}

TypeNamePtr instantiate(TypeNamePtr definition, std::vector<TypeNamePtr> arguments) {
  if (arguments.empty()) return definition;
  TypeName type;
  type.shape = TypeShape::instance;
  type.element = std::move(definition);
  type.arguments = std::move(arguments);
  return make_type(std::move(type));
}

TypeNamePtr szarray_of(TypeNamePtr element) {
  TypeName type;
  type.shape = TypeShape::szarray;
  type.element = std::move(element);
  return make_type(std::move(type));
}

void put_definition_name(NameWriter& out, const TypeName& definition, char separator) {
  if (!definition.name_space.empty()) {
    out.put(definition.name_space);
    out.put('.');
  }
  for (std::size_t i = 0; i < definition.chain.size(); ++i) {
    if (i != 0) out.put(separator);
    out.put(definition.chain[i]);
  }
}

const TypeName* definition_of(const TypeName& type) {
  if (type.shape == TypeShape::definition) return &type;
  if (type.shape == TypeShape::instance && type.element != nullptr &&
      type.element->shape == TypeShape::definition)
    return type.element.get();
  return nullptr;
}

const TypeName& unwrapped(const TypeName& type) {
  const TypeName* t = &type;
  for (unsigned depth = 0; depth < max_type_name_depth; ++depth) {
    const bool wraps = t->shape == TypeShape::modified || t->shape == TypeShape::pinned ||
                       (t->shape == TypeShape::variable && t->element != nullptr);
    if (!wraps || t->element == nullptr) break;
    t = t->element.get();
  }
  return *t;
}

void PrintedType::keep(const Text& text) const {
  static_assert(max_type_name_depth <= 255);
  if (text.text.size() > max_length) return;
  auto made = std::make_unique_for_overwrite<char[]>(2 + text.text.size());
  made[0] = static_cast<char>(text.text.size());
  made[1] = static_cast<char>(text.depth);
  text.text.copy(made.get() + 2, text.text.size());
  const char* none = nullptr;
  if (text_.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) made.release();
}

std::string_view framework_name(ElementType element_type) {
  const PrimitiveNames* names = find_primitive(element_type);
  return names != nullptr ? names->framework : std::string_view();
}

ElementType primitive_of(const TypeName& definition) {
  if (definition.chain.size() != 1 || definition.name_space != "System") return ElementType::end;
  for (const PrimitiveNames& p : primitives)
    if (p.framework == definition.chain[0]) return p.element_type;
  return ElementType::end;
}

std::string format_full_name(const QualifiedMethodName& name) {
  NameWriter out;
  CSharpWriter writer(out);
  put_container(out, name);
  if (name.container == MethodContainer::type && name.declaring_type != nullptr) {
    writer.type(*name.declaring_type);
    out.put('.');
  }
  out.put(name.method);
  writer.type_arguments(name.method_arguments, name.method_parameter_names);
  if (!name.signature_known) {
    out.put(unknown_parameters);
    return out.take();
  }
  out.put('(');
  writer.types(name.parameters);
  constexpr std::uint8_t convention_mask = 0xf, vararg = 5;
  if ((name.signature_header & convention_mask) == vararg)
    out.put(name.parameters.empty() ? "__arglist" : ", __arglist");
  out.put(')');
  return out.take();
}

std::string format_short_name(const QualifiedMethodName& name) {
  NameWriter out;
  put_container(out, name);
  if (name.container == MethodContainer::type && name.declaring_type != nullptr) {
    const TypeName& type = unwrapped(*name.declaring_type);
    if (const TypeName* definition = definition_of(type))
      put_definition_name(out, *definition, '+');
    else
      out.put(format_type(type));
    out.put('.');
  }
  out.put(name.method);
  return out.take();
}

std::string format_type(const TypeName& type) {
  NameWriter out;
  CSharpWriter(out).type(type);
  return out.take();
}

std::string format_token_name(std::string_view module, std::uint32_t token) {
  return fmt::format("{}!0x{:08x}", module, token);
}

} // namespace clr
