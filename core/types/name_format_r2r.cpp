// The form of the maps that crossgen2 writes (--perfmap). Source: dotnet/runtime
// src/coreclr/tools/aot/ILCompiler.Diagnostics/PerfMapWriter.cs and
// src/coreclr/tools/aot/ILCompiler.TypeSystem/ (TypeNameFormatter).
#include "core/types/name_writer.h"

namespace clr {
namespace {

class R2RMapWriter {
public:
  explicit R2RMapWriter(NameWriter& out) : out_(out) {}

  void type(const TypeName& type) {
    const NameWriter::Level level(out_);
    if (level.too_deep()) return out_.put("...");
    switch (type.shape) {
    case TypeShape::primitive:
      return out_.put(format_sos_type(type));
    case TypeShape::definition:
      return put_definition_name(out_, type, '+');
    case TypeShape::instance:
      element(type);
      out_.put('[');
      list(type.arguments);
      return out_.put(']');
    case TypeShape::szarray:
      element(type);
      return out_.put("[]");
    case TypeShape::array:
      element(type);
      out_.put('[');
      for (std::uint32_t i = 1; i < type.rank && !out_.full(); ++i) out_.put(',');
      return out_.put(type.rank == 1 ? "*]" : "]");
    case TypeShape::pointer:
      element(type);
      return out_.put('*');
    case TypeShape::byref:
      element(type);
      return out_.put('&');
    case TypeShape::variable:
      return type.element ? element(type) : out_.put(type.name);
    case TypeShape::function_pointer:
      element(type);
      out_.put(" (");
      list(type.arguments);
      return out_.put(')');
    case TypeShape::modified:
    case TypeShape::pinned:
    case TypeShape::native_valuetype:
      return element(type);
    case TypeShape::unknown:
      break;
    }
    out_.put('?');
  }

  void list(const std::vector<TypeNamePtr>& types) {
    for (std::size_t i = 0; i < types.size() && !out_.full(); ++i) {
      if (i != 0) out_.put(", ");
      type(types[i] ? *types[i] : *unknown_type());
    }
  }

private:
  void element(const TypeName& of) { type(of.element ? *of.element : *unknown_type()); }

  NameWriter& out_;
};

bool is_void(const TypeName& type) {
  return type.shape == TypeShape::primitive && type.element_type == ElementType::void_;
}

} // namespace

std::string format_r2r_map_name(const QualifiedMethodName& name) {
  NameWriter out;
  R2RMapWriter writer(out);
  if (name.signature_known && name.return_type && !is_void(unwrapped(*name.return_type))) {
    writer.type(*name.return_type);
    out.put(' ');
  }
  writer.type(name.declaring_type ? *name.declaring_type : *unknown_type());
  out.put("::");
  out.put(name.method);
  if (!name.signature_known) {
    out.put(unknown_parameters);
    return out.take();
  }
  out.put('(');
  writer.list(name.parameters);
  out.put(')');
  return out.take();
}

} // namespace clr
