// Names in the notation of the maps that crossgen2 writes (--perfmap), so that every entry of a map can be
// compared with what the image's own tables say: "Ret Ns.Outer+Inner[A, B]::Method(P1, P2)", without a
// return type for void and without the arguments of a generic method, type parameters replaced by theirs.
#pragma once

#include "core/types/name_format.h"

#include <string>

namespace clr::test {

inline std::string map_type(const TypeNamePtr& type);

inline std::string map_list(const std::vector<TypeNamePtr>& types) {
  std::string text;
  for (const TypeNamePtr& type : types) text += (text.empty() ? "" : ", ") + map_type(type);
  return text;
}

inline std::string map_definition(const TypeName& type) {
  std::string text = type.name_space.empty() ? "" : type.name_space + ".";
  for (std::size_t i = 0; i < type.chain.size(); ++i) text += (i == 0 ? "" : "+") + type.chain[i];
  return text;
}

inline std::string map_type(const TypeNamePtr& type) {
  switch (type->shape) {
  case TypeShape::primitive: {
    std::string name = format_sos_type(*type);
    return name;
  }
  case TypeShape::definition:
    return map_definition(*type);
  case TypeShape::instance:
    return map_type(type->element) + "[" + map_list(type->arguments) + "]";
  case TypeShape::szarray:
    return map_type(type->element) + "[]";
  case TypeShape::array:
    return map_type(type->element) + "[" + std::string(type->rank - 1, ',') + "]";
  case TypeShape::pointer:
    return map_type(type->element) + "*";
  case TypeShape::byref:
    return map_type(type->element) + "&";
  case TypeShape::variable:
    return type->element ? map_type(type->element) : type->name;
  case TypeShape::function_pointer:
    return map_type(type->element) + " (" + map_list(type->arguments) + ")";
  case TypeShape::modified:
  case TypeShape::pinned:
  case TypeShape::native_valuetype:
    return map_type(type->element);
  case TypeShape::unknown:
    break;
  }
  return "?";
}

inline std::string map_name(const QualifiedMethodName& name) {
  if (!name.signature_known) return "(signature not known)";
  std::string text;
  const std::string returned = map_type(name.return_type);
  if (returned != "System.Void") text = returned + " ";
  text += map_type(name.declaring_type) + "::" + name.method;
  return text + "(" + map_list(name.parameters) + ")";
}

} // namespace clr::test
