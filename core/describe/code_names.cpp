#include "core/describe/code_names.h"

#include "core/types/name_writer.h"
#include "core/types/user_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace clr {
namespace {

void add_alias(DebugNames& names, std::string_view alias) {
  if (alias.empty() || alias == names.name || alias == names.full_name) return;
  if (std::ranges::find(names.aliases, alias) == names.aliases.end()) names.aliases.emplace_back(alias);
}

// Without the list of parameters. A name may hold parentheses of its own: "Ns.Type.Main(string[]).Work(int)".
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return name.substr(0, at);
  }
  return name;
}

// The last part of "Ns.Type.Run<Ns.T>": "Run<Ns.T>". A constructor's name begins with a point.
std::string_view last_part(std::string_view name) {
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    const char c = name[at];
    if (c == '>' || c == ')' || c == ']') ++depth;
    if ((c == '<' || c == '(' || c == '[') && depth > 0) --depth;
    if (c == '.' && depth == 0) return name.substr(at > 0 && name[at - 1] == '.' ? at : at + 1);
  }
  return name;
}

std::string_view without_prefix(std::string_view name, std::string_view prefix) {
  if (prefix.empty() || name.size() <= prefix.size() + 1 || !name.starts_with(prefix) ||
      name[prefix.size()] != '.')
    return {};
  return name.substr(prefix.size() + 1);
}

// Without type arguments: "Ns.List<int>.Add" is also "Ns.List.Add". A compiler's "<Main>b__0" stays.
std::string without_arguments(std::string_view name) {
  std::string result;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    const bool begins_part = at == 0 || name[at - 1] == '.' || name[at - 1] == '+';
    if (depth > 0) {
      depth += c == '<' ? 1 : 0;
      depth -= c == '>' ? 1 : 0;
    } else if (c == '<' && !begins_part) {
      depth = 1;
    } else {
      result += c;
    }
  }
  return depth == 0 ? result : std::string();
}

void add_forms(DebugNames& names, std::string_view plain, std::string_view name_space) {
  add_alias(names, plain);
  add_alias(names, without_prefix(plain, name_space));
}

bool has_arguments(const QualifiedMethodName& name) {
  if (!name.method_arguments.empty() || !name.method_parameter_names.empty()) return true;
  const TypeName* type = name.declaring_type.get();
  return type != nullptr && (type->shape == TypeShape::instance || !type->parameter_names.empty());
}

std::string_view name_space_of(const QualifiedMethodName& name) {
  const TypeName* const type = name.declaring_type.get();
  const TypeName* const definition = type != nullptr ? definition_of(unwrapped(*type)) : nullptr;
  return definition != nullptr ? definition->name_space : std::string_view();
}

// `plain`: without parameters.
void set_few_names(DebugNames& names, const QualifiedMethodName& name, std::string_view plain) {
  const std::string_view name_space = name_space_of(name);
  const std::string_view in_namespace = without_prefix(plain, name_space);
  names.name = in_namespace.empty() ? std::string_view(name.method) : in_namespace;
  if (in_namespace.empty() && !name_space.empty()) {
    // A type that is shown by its keyword: "string.Concat" is "System.String.Concat" too.
    const std::string whole = format_short_name(name);
    add_alias(names, whole);
    names.name = without_prefix(whole, name_space);
    if (names.name.empty()) names.name = name.method;
  }
  add_alias(names, plain);
}

// Sets full_name. True when that is all: nothing but a token or an address is known of the method.
bool set_token_names(DebugNames& names, const Method& method) {
  names.full_name = method.shown_name();
  if (names.full_name.empty()) names.full_name = fmt::format("method {:#x}", method.method_desc);
  if (method.qualified) return false;
  names.name = names.full_name;
  names.unit = method.module;
  return true;
}

} // namespace

DebugNames few_names(const QualifiedMethodName& method) {
  DebugNames names;
  names.full_name = format_full_name(method);
  set_few_names(names, method, without_parameters(names.full_name));
  return names;
}

void set_few_names(DescribedCode& code, const UnspelledMethod& method) {
  if (method.qualified && !method.user) {
    code.set_names(UnspelledName(method.qualified));
    return;
  }
  const Method spelled = method.spell();
  DebugNames names;
  if (!set_token_names(names, spelled))
    set_few_names(names, *spelled.qualified, without_parameters(spelled.full_name));
  code.set_names(std::move(names));
}

DebugNames kickoff_names(const Method& method) {
  DebugNames names = all_names(method);
  names.name = names.full_name;
  names.aliases.clear();
  return names;
}

DebugNames all_names(const Method& method) {
  DebugNames names;
  if (set_token_names(names, method)) return names;
  const QualifiedMethodName* const name = method.qualified.get();
  const std::string_view plain = without_parameters(method.full_name);
  const TypeName* const type = name->declaring_type.get();
  const std::string_view name_space = name_space_of(*name);

  names.name = name->method;
  names.aliases.reserve(2);
  // The body of a state machine is what the user calls by the name of the method, as is a local function; a
  // lambda has none.
  if (method.user && !method.user->mark.ends_with("lambda")) {
    const std::string_view users = without_parameters(method.user->full_name);
    names.name = last_part(users);
    add_forms(names, users, name_space);
  }
  add_forms(names, plain, name_space);
  if (has_arguments(*name)) add_forms(names, without_arguments(plain), name_space);
  add_alias(names, method.name);
  if (method.user) add_alias(names, method.full_name);
  const bool identifier = !name->method.empty() && name->method.front() != '.' && name->method.front() != '<';
  if (names.name != name->method || !identifier) add_alias(names, name->method);
  if (names.aliases.size() > 1)
    std::ranges::stable_sort(names.aliases, std::greater<>(), [](const std::string& s) { return s.size(); });

  // The type's part of the plain name; the method's name may hold points of its own ("Ns.IFace.Run").
  names.unit = name_space;
  if (const std::size_t at = plain.rfind(name->method); at != std::string_view::npos && at > 1)
    names.unit = plain.substr(0, at - 1);
  else if (type != nullptr)
    names.unit = format_type(*type);
  return names;
}

} // namespace clr
