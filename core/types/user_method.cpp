#include "core/types/user_method.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace clr {
namespace {

constexpr std::string_view async_attribute = "AsyncStateMachineAttribute",
                           iterator_attribute = "IteratorStateMachineAttribute",
                           async_iterator_attribute = "AsyncIteratorStateMachineAttribute";

constexpr std::string_view visual_basic_machine = "VB$StateMachine_";

// A compiler's name such as "<Run>g__Work|0_1": the text between the brackets, the letter behind them that
// tells the purpose, and the rest.
struct MadeName {
  std::string_view of;
  char purpose = 0;
  std::string_view rest;
};

std::optional<MadeName> parse(std::string_view name) {
  if (!name.starts_with('<')) return std::nullopt;
  unsigned depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] != '>' || --depth != 0) continue;
    if (i == 1 || i + 1 >= name.size()) return std::nullopt;
    return MadeName{name.substr(1, i - 1), name[i + 1], name.substr(i + 2)};
  }
  return std::nullopt;
}

bool is_lambda(const MadeName& name) {
  return name.purpose == 'b' && name.rest.starts_with("__");
}
bool is_local_function(const MadeName& name) {
  return name.purpose == 'g' && name.rest.starts_with("__") && name.rest.find('|') != std::string_view::npos;
}
bool is_closure_class(std::string_view name) {
  return name.starts_with("<>c");
}
// The finally blocks of an iterator are methods of its state machine.
bool runs_state_machine(std::string_view method) {
  return method == "MoveNext" || method.starts_with("<>m__Finally");
}

// Finds the way from a compiler's method back to the user's.
class Search {
public:
  explicit Search(MetadataNames& names) : names_(names), metadata_(names.metadata()) {}

  // False when the user wrote the method as it is.
  bool follow(std::uint32_t method_rid) {
    for (unsigned depth = 0; depth < max_user_method_depth; ++depth) {
      const std::uint32_t type = metadata_.owner_of_method(method_rid);
      if (type == 0) break;
      const std::string name = metadata_.string(metadata_.method_def(method_rid).name);
      const std::uint32_t next =
          runs_state_machine(name) ? of_state_machine(type) : of_part(type, method_rid, name);
      if (next == 0) break;
      method_rid = next;
    }
    return !marks_.empty();
  }

  UserMethod result(const QualifiedMethodName& made) const {
    UserMethod user;
    for (const std::string_view mark : marks_)
      user.mark += (user.mark.empty() ? "" : " ") + std::string(mark);
    user.token = host_ == 0 ? 0 : token_of(MetadataTable::method_def, host_);
    user.full_name = host_name(made);
    if (local_function_ != 0) user.full_name += "." + local_function_name(made);
    return user;
  }

private:
  std::string type_name(std::uint32_t type) const { return metadata_.string(metadata_.type_def(type).name); }

  // Whether one more method or attribute may be looked at.
  bool step() {
    if (left_ == 0 || names_.searched_methods() >= max_all_searched_methods) {
      left_ = 0;
      return false;
    }
    --left_;
    ++names_.searched_methods();
    return true;
  }

  // Visits the methods of a type; with `name`, only those of that name.
  template<typename Visit>
  void each_method(std::uint32_t type, std::string_view name, Visit visit) {
    auto [first, last] = metadata_.method_range(type);
    last = std::min(last, first + max_candidate_methods);
    for (std::uint32_t i = first; i < last && step(); ++i) {
      const std::uint32_t rid = metadata_.method_at(i);
      if (!name.empty() && metadata_.string(metadata_.method_def(rid).name) != name) continue;
      if (!visit(rid)) return;
    }
  }

  // The method whose attribute names `machine` as its state machine. Where attributes were trimmed away, the
  // compiler's name of the type leads to the method.
  std::uint32_t of_state_machine(std::uint32_t machine) {
    const std::uint32_t type = metadata_.encloser_of(machine);
    if (type == 0) return 0;
    const std::string machine_name = type_name(machine);
    const auto made = parse(machine_name);
    const bool named = made && made->purpose == 'd';
    if (const std::string task = fsharp_task(machine, machine_name); !task.empty()) {
      marks_.push_back("async");
      settle(type_with(type, task), task);
      return host_;
    }
    if (!named && !machine_name.starts_with(visual_basic_machine))
      return 0; // an enumerator that the user wrote
    // The compiler writes the dots of a method's name as hyphens: "<<-cctor>b__7_0>d".
    std::string of(named ? made->of : "");
    std::ranges::replace(of, '-', '.');
    std::uint32_t found = 0;
    each_method(type, of, [&](std::uint32_t rid) {
      const std::string_view mark = state_machine_mark(rid, machine_name);
      if (mark.empty()) return true;
      marks_.push_back(mark);
      found = rid;
      return false;
    });
    if (found == 0 && named) {
      marks_.push_back("state machine");
      settle(type, of);
      return host_;
    }
    host_ = found;
    host_type_ = type;
    return found;
  }

  // "Load" for "Load@22-1", a state machine of F#'s task { }; "" for any other type.
  std::string fsharp_task(std::uint32_t machine, const std::string& name) const {
    const std::size_t at = name.find('@');
    if (at == 0 || at == name.npos || name.starts_with('<')) return {};
    const auto [first, last] = metadata_.field_range(machine);
    for (std::uint32_t i = first; i < std::min(last, first + max_candidate_methods); ++i)
      if (metadata_.string(metadata_.field(metadata_.field_at(i)).name) == "ResumptionPoint")
        return name.substr(0, at);
    return {};
  }

  // The type that has the method: F# puts the machines of all types of a module into the module's own type.
  std::uint32_t type_with(std::uint32_t type, const std::string& method) {
    bool found = false;
    each_method(type, method, [&](std::uint32_t) { return !(found = true); });
    const std::uint32_t types = std::min(metadata_.rows(MetadataTable::nested_class), max_candidate_types);
    constexpr unsigned nested_type = 0, enclosing_type = 1; // columns
    std::uint32_t nested = 0;
    for (std::uint32_t row = 1; row <= types && !found; ++row) {
      if (metadata_.cell(MetadataTable::nested_class, row, enclosing_type) != type) continue;
      const std::uint32_t rid = metadata_.cell(MetadataTable::nested_class, row, nested_type);
      if (!metadata_.valid(token_of(MetadataTable::type_def, rid))) continue;
      each_method(rid, method, [&](std::uint32_t) {
        found = nested != 0; // several: the right one is not known
        nested = nested == 0 ? rid : 0;
        return false;
      });
    }
    return nested != 0 && left_ != 0 ? nested : type;
  }

  // The user's method of a lambda or local function.
  std::uint32_t of_part(std::uint32_t type, std::uint32_t method_rid, const std::string& name) {
    const auto made = parse(name);
    if (!made || !(is_lambda(*made) || is_local_function(*made))) return 0;
    if (is_lambda(*made)) {
      marks_.push_back("lambda");
    } else {
      marks_.push_back("local function");
      local_function_ = method_rid;
    }
    for (unsigned depth = 0; depth < max_user_method_depth && is_closure_class(type_name(type)); ++depth) {
      const std::uint32_t outer = metadata_.encloser_of(type);
      if (outer == 0) break;
      type = outer;
    }
    settle(type, std::string(made->of));
    return host_;
  }

  // Settles on the method of that name in the type. When there are several, the right one is not known.
  void settle(std::uint32_t type, std::string name) {
    host_ = 0;
    host_type_ = type;
    unsigned candidates = 0;
    each_method(type, name, [&](std::uint32_t rid) {
      host_ = rid;
      return ++candidates < 2;
    });
    if (candidates != 1 || left_ == 0) host_ = 0;
    bare_name_ = std::move(name);
  }

  // The mark for an attribute of the method that names `machine` as its state machine; empty when there is
  // none.
  std::string_view state_machine_mark(std::uint32_t method_rid, const std::string& machine) {
    const auto [first, last] = metadata_.custom_attributes(token_of(MetadataTable::method_def, method_rid));
    for (std::uint32_t rid = first; rid < last && step(); ++rid) {
      const CustomAttributeRow row = metadata_.custom_attribute(rid);
      const std::string attribute = attribute_name(row.constructor);
      const std::string_view mark = attribute == async_attribute            ? "async"
                                    : attribute == iterator_attribute       ? "iterator"
                                    : attribute == async_iterator_attribute ? "async iterator"
                                                                            : "";
      if (!mark.empty() && names_type(row.value, machine)) return mark;
    }
    return {};
  }

  std::string attribute_name(std::uint32_t constructor) const {
    if (table_of(constructor) == MetadataTable::method_def) {
      const std::uint32_t type = metadata_.owner_of_method(rid_of(constructor));
      return type == 0 ? std::string() : type_name(type);
    }
    if (table_of(constructor) != MetadataTable::member_ref) return {};
    const std::uint32_t parent = metadata_.member_ref(rid_of(constructor)).parent;
    if (table_of(parent) != MetadataTable::type_ref) return {};
    return metadata_.string(metadata_.type_ref(rid_of(parent)).name);
  }

  // Does the value of an attribute (its one argument is a type: ECMA-335 II.23.3) name a nested type? The
  // assembly's name may follow.
  bool names_type(std::uint32_t value, const std::string& nested) const {
    const metadata::Blob blob = metadata_.blob(value);
    const BlobBytes bytes(blob);
    SignatureReader reader(bytes.span(), blob.begin());
    constexpr std::uint8_t prolog = 1;
    if (reader.u8() != prolog || reader.u8() != 0) return false;
    const std::uint32_t length = reader.compressed_unsigned();
    if (length > reader.remaining()) return false;
    std::string_view name(reinterpret_cast<const char*>(bytes.span().data()) + reader.position(), length);
    name = name.substr(0, name.find(", "));
    return name.ends_with(nested) && name.size() > nested.size() &&
           name[name.size() - nested.size() - 1] == '+';
  }

  // The type arguments of the compiler's method: first those of the user's type, then those of the user's
  // method. The latter became parameters of the compiler's type or of its method.
  static std::vector<TypeNamePtr> all_arguments(const QualifiedMethodName& made) {
    std::vector<TypeNamePtr> all;
    if (made.declaring_type && made.declaring_type->shape == TypeShape::instance)
      all = made.declaring_type->arguments;
    all.insert(all.end(), made.method_arguments.begin(), made.method_arguments.end());
    return all;
  }
  std::size_t parameters_of(std::uint32_t token) const {
    const auto [first, last] = metadata_.generic_params(token);
    return last - first;
  }

  std::string host_name(const QualifiedMethodName& made) const {
    const std::vector<TypeNamePtr> all = all_arguments(made);
    const std::size_t of_type =
        std::min(parameters_of(token_of(MetadataTable::type_def, host_type_)), all.size());
    const std::span<const TypeNamePtr> arguments(all);
    SignatureContext context;
    context.class_arguments = arguments.first(of_type);
    if (host_ != 0) {
      const std::size_t of_method = parameters_of(token_of(MetadataTable::method_def, host_));
      if (of_method <= all.size() - of_type) context.method_arguments = arguments.subspan(of_type, of_method);
      return format_full_name(names_.method(host_, context));
    }
    const TypeNamePtr type =
        context.class_arguments.empty()
            ? names_.open_type_def(host_type_)
            : instantiate(names_.type_def(host_type_),
                          {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(of_type)});
    return format_type(*type) + "." + bare_name_;
  }

  // "Work<T>(int)", without the closures that the compiler passes as parameters.
  std::string local_function_name(const QualifiedMethodName& made) const {
    const std::vector<TypeNamePtr> all = all_arguments(made);
    const std::uint32_t owner = metadata_.owner_of_method(local_function_);
    const std::size_t of_type = std::min(parameters_of(token_of(MetadataTable::type_def, owner)), all.size());
    SignatureContext context;
    context.class_arguments = std::span(all).first(of_type);
    context.method_arguments = std::span(all).subspan(of_type);
    QualifiedMethodName name = names_.method(local_function_, context);
    // The local function's own type parameters follow those of the method around it.
    const std::size_t outer = host_ == 0 ? 0 : parameters_of(token_of(MetadataTable::method_def, host_));
    const auto own = [outer](auto& list) {
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(outer, list.size())));
    };
    own(name.method_arguments);
    own(name.method_parameter_names);
    while (!name.parameters.empty() && is_closure(*name.parameters.back())) name.parameters.pop_back();
    const std::string made_name = name.method;
    if (const auto parts = parse(made_name)) {
      constexpr std::size_t underscores = 2;
      name.method = parts->rest.substr(underscores, parts->rest.find('|') - underscores);
    }
    name.declaring_type = nullptr;
    return format_full_name(name);
  }

  static bool is_closure(const TypeName& parameter) {
    const TypeName* type = parameter.shape == TypeShape::byref ? parameter.element.get() : nullptr;
    if (type != nullptr && type->shape == TypeShape::instance) type = type->element.get();
    return type != nullptr && !type->chain.empty() && is_closure_class(type->chain.back());
  }

  MetadataNames& names_;
  const Metadata& metadata_;
  std::vector<std::string_view> marks_; // innermost first
  std::uint32_t host_ = 0, host_type_ = 0;
  std::uint32_t local_function_ = 0;
  std::size_t left_ = max_searched_methods; // that may be looked at
  std::string bare_name_;                   // of the user's method when host_ is not known
};

} // namespace

bool may_be_compiler_made(const QualifiedMethodName& method) {
  if (method.container != MethodContainer::type) return false;
  return method.method == "MoveNext" || method.method.starts_with('<');
}

std::optional<UserMethod> find_user_method(MetadataNames& names, std::uint32_t method_rid,
                                           const QualifiedMethodName& made) {
  Search search(names);
  if (!search.follow(method_rid)) return std::nullopt;
  return search.result(made);
}

} // namespace clr
