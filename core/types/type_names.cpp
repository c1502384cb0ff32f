#include "core/types/type_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace clr {
namespace {

constexpr std::size_t handle_node = 64; // bytes of a TypeHandle in a table, beside its name

// Replaces the definition of a CoreLib type by the primitive, if signatures spell that type as one element
// type.
TypeNamePtr as_primitive(const TypeNamePtr& type) {
  using E = ElementType;
  static constexpr std::array<std::pair<std::string_view, ElementType>, 18> primitives{{
      {"Void", E::void_},
      {"Boolean", E::boolean},
      {"Char", E::char_},
      {"SByte", E::i1},
      {"Byte", E::u1},
      {"Int16", E::i2},
      {"UInt16", E::u2},
      {"Int32", E::i4},
      {"UInt32", E::u4},
      {"Int64", E::i8},
      {"UInt64", E::u8},
      {"Single", E::r4},
      {"Double", E::r8},
      {"String", E::string},
      {"Object", E::object},
      {"IntPtr", E::native_int},
      {"UIntPtr", E::native_uint},
      {"TypedReference", E::typed_reference},
  }};
  if (type->shape != TypeShape::definition || type->chain.size() != 1 || type->name_space != "System" ||
      type->assembly != "System.Private.CoreLib")
    return type;
  const auto* found = std::find_if(primitives.begin(), primitives.end(),
                                   [&](const auto& entry) { return entry.first == type->chain.front(); });
  return found == primitives.end() ? type : primitive_type(found->second);
}

TypeNamePtr over(TypeShape shape, TypeNamePtr element) {
  return make_type(TypeName{.shape = shape, .element = std::move(element)});
}

// Keeps an address among the types in progress while it lives. Throws when they are nested too deeply.
class Working {
public:
  Working(std::vector<Address>& all, Address address) : all_(all) {
    if (all_.size() >= TypeNames::max_depth) throw_corrupt(address, "types nested too deeply");
    if (std::ranges::find(all_, address) != all_.end()) throw_corrupt(address, "type that contains itself");
    all_.push_back(address);
  }
  ~Working() { all_.pop_back(); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

private:
  std::vector<Address>& all_;
};

} // namespace

NamedModule& NamedModules::at(Address address) {
  address = target_->platform().wrap(address);
  auto& slot = modules_[address];
  if (!slot) {
    try {
      slot = std::make_unique<NamedModule>(*target_, address, files_, room_);
    } catch (...) {
      modules_.erase(address);
      throw;
    }
  }
  return *slot;
}

TypeNames::TypeNames(const Target& target, NamedModules& modules) : target_(&target), modules_(&modules) {}

const MethodTables& TypeNames::tables() {
  if (!tables_) tables_.emplace(*target_);
  return *tables_;
}

const RuntimeType& TypeNames::type(Address method_table) {
  method_table = target_->platform().wrap(method_table);
  if (const RuntimeType* known = types_.find(method_table)) return *known;
  begin_name();
  const Working working(in_progress_, method_table);
  return types_.add(method_table, read(method_table));
}

RuntimeType TypeNames::read(Address method_table) {
  RuntimeType type;
  type.table = tables().read(method_table);
  try {
    type.module = &modules_->at(type.table.module);
    const bool of_metadata = !type.table.is_array() && type.table.typedef_rid() != 0;
    // Not thrown: a module without metadata may have thousands of types.
    if (const std::string* why = of_metadata ? type.module->metadata.absence() : nullptr)
      type.fault = *why;
    else if (bytes_ > max_all_names)
      type.fault = "the names of all types take too much memory";
    else
      bytes_ += size_in_memory(*(type.name = name_of(type, type.fault)));
  } catch (const Error& fault) {
    type.fault = fault.what();
  }
  return type;
}

void TypeNames::begin_name() {
  if (in_progress_.empty()) parts_ = 0;
  ++parts_;
}

// What is within too many others is unknown there, but not by itself.
bool TypeNames::is_beyond_limit(Address type_handle) const {
  return bytes_ > max_all_names || in_progress_.size() >= max_depth ||
         (!in_progress_.empty() && parts_ > max_name_parts) ||
         std::ranges::find(in_progress_, type_handle) != in_progress_.end();
}

TypeNamePtr TypeNames::keep(Address type_handle, TypeNamePtr name) {
  bytes_ += handle_node + size_in_memory(*name);
  return type_descs_[type_handle] = std::move(name);
}

void TypeNames::forget_faults() {
  bytes_ -= unreadable_.size() * handle_node;
  unreadable_.clear();
}

// Throws when nothing names the type. Parts that cannot be read are unknown, and `fault` says why.
TypeNamePtr TypeNames::name_of(const RuntimeType& type, std::string& fault) {
  const MethodTable& table = type.table;
  const auto part = [&](Address handle) {
    TypeNamePtr name = argument(handle);
    if (name->shape == TypeShape::unknown && fault.empty())
      fault = "a type within the name could not be read";
    return name;
  };
  if (table.is_array()) {
    TypeNamePtr element = part(table.per_inst_info);
    if (table.is_szarray()) return szarray_of(std::move(element));
    TypeName array{.shape = TypeShape::array, .element = std::move(element)};
    array.rank = tables().array_rank(table);
    return make_type(std::move(array));
  }
  const std::uint32_t rid = table.typedef_rid();
  if (rid == 0 && table.continuation) {
    const RuntimeType& base = this->type(table.parent);
    if (!base.name) throw Error(ErrorKind::memory_missing, table.parent, base.fault);
    return base.name;
  }
  if (rid == 0) {
    TypeName made{.shape = TypeShape::definition};
    made.chain = {"(dynamicClass)"}; // the text of the runtime's own formatter
    return make_type(std::move(made));
  }
  if (table.generic() == MethodTable::Generic::definition)
    return type.module->metadata.with([&](MetadataNames& names) { return names.open_type_def(rid); });
  TypeNamePtr definition =
      type.module->metadata.with([&](MetadataNames& names) { return names.type_def(rid); });
  const std::vector<Address> handles = tables().generic_arguments(table);
  if (handles.empty()) return definition;
  parts_ += handles.size();
  std::vector<TypeNamePtr> arguments;
  arguments.reserve(handles.size());
  for (const Address handle : handles) arguments.push_back(part(handle));
  return instantiate(std::move(definition), std::move(arguments));
}

TypeNamePtr TypeNames::type_of_handle(std::uint64_t type_handle) {
  type_handle = target_->platform().wrap(type_handle);
  const auto name_of_table = [](const RuntimeType& found) {
    return found.name ? found.name : unknown_type();
  };
  const bool of_table = !is_type_desc(type_handle);
  if (of_table) {
    if (const RuntimeType* known = types_.find(type_handle)) return name_of_table(*known);
  } else if (const auto known = type_descs_.find(type_handle); known != type_descs_.end()) {
    return known->second;
  }
  if (unreadable_.contains(type_handle) || is_beyond_limit(type_handle)) return unknown_type();
  try {
    if (of_table) return name_of_table(type(type_handle));
    begin_name();
    const Working working(in_progress_, type_handle);
    return keep(type_handle, describe(read_type_desc(*target_, type_handle)));
  } catch (const Error&) {
    if (unreadable_.insert(type_handle).second) bytes_ += handle_node; // it would fail again
    return unknown_type();
  }
}

TypeNamePtr TypeNames::argument(Address type_handle) {
  return as_primitive(type_of_handle(type_handle));
}

TypeNamePtr TypeNames::describe(const TypeDesc& desc) {
  switch (desc.element_type) {
  case element_type::ptr:
    return over(TypeShape::pointer, argument(desc.argument));
  case element_type::byref:
    return over(TypeShape::byref, argument(desc.argument));
  case element_type::value_type: {
    TypeName native{.shape = TypeShape::native_valuetype, .element = type_of_handle(desc.argument)};
    native.handle = desc.argument; // the runtime shows the MethodTable of the struct here
    return make_type(std::move(native));
  }
  case element_type::var:
  case element_type::mvar: {
    TypeName variable{.shape = TypeShape::variable};
    variable.method_variable = desc.element_type == element_type::mvar;
    modules_->at(desc.module).metadata.with([&](MetadataNames& names) {
      const GenericParamRow row = names.metadata().generic_param(rid_of(desc.token));
      variable.index = row.number;
      variable.name = names.metadata().string(row.name);
    });
    return make_type(std::move(variable));
  }
  default: {
    parts_ += desc.ret_and_args.size();
    TypeName pointer{.shape = TypeShape::function_pointer, .element = argument(desc.ret_and_args.front())};
    for (std::size_t i = 1; i < desc.ret_and_args.size(); ++i)
      pointer.arguments.push_back(argument(desc.ret_and_args[i]));
    pointer.header = desc.call_conv;
    return make_type(std::move(pointer));
  }
  }
}

} // namespace clr
