#include "core/types/metadata_names.h"

#include <algorithm>
#include <utility>

namespace clr {
namespace {

constexpr std::string_view canon_namespace = "System", canon_name = "__Canon";
constexpr std::string_view core_library = "System.Private.CoreLib";

TypeNamePtr canonical_type() {
  static const TypeNamePtr canon = make_type({.shape = TypeShape::definition,
                                              .name_space = std::string(canon_namespace),
                                              .chain = {std::string(canon_name)},
                                              .assembly = std::string(core_library),
                                              .value_type = false});
  return canon;
}

void set_signature(QualifiedMethodName& name, MethodSignature<TypeNamePtr> signature) {
  name.signature_header = signature.header;
  name.return_type = std::move(signature.return_type);
  name.parameters = std::move(signature.parameters);
  name.sentinel = signature.sentinel;
  name.signature_fault.clear();
  name.signature_known = true;
}

} // namespace

// Makes TypeNames from the parts that the signature decoder finds.
struct MetadataNames::Provider {
  using Type = TypeNamePtr;

  MetadataNames* names; // null within a module that is not available
  const SignatureContext& context;
  bool of_context = false; // the context had a part in what was made

  Type primitive(std::uint8_t element_type) { return primitive_type(static_cast<ElementType>(element_type)); }
  Type from_token(std::uint32_t token, bool value_type) {
    if (table_of(token) == MetadataTable::type_spec) of_context = true;
    return names != nullptr ? names->reference(token, value_type, context) : unknown_type();
  }
  Type instance(Type definition, std::vector<Type> arguments) {
    return names != nullptr ? names->instance_of(std::move(definition), std::move(arguments))
                            : instantiate(std::move(definition), std::move(arguments));
  }
  // Without `names` there is no pool that keeps the type.
  Type made(TypeParts parts) {
    return names != nullptr ? names->made_.make(std::move(parts)) : TypePool().make(std::move(parts));
  }
  Type wrap(TypeShape shape, Type element) { return made({.shape = shape, .element = std::move(element)}); }
  Type szarray(Type element) { return wrap(TypeShape::szarray, std::move(element)); }
  Type pointer(Type element) { return wrap(TypeShape::pointer, std::move(element)); }
  Type byref(Type element) { return wrap(TypeShape::byref, std::move(element)); }
  Type pinned(Type element) { return wrap(TypeShape::pinned, std::move(element)); }
  Type native_value_type(Type element) { return wrap(TypeShape::native_valuetype, std::move(element)); }
  Type canon() { return canonical_type(); }

  Type array(Type element, ArrayShape shape) {
    TypeName type;
    type.shape = TypeShape::array;
    type.element = std::move(element);
    type.rank = shape.rank;
    if (!shape.sizes.empty() || !shape.lower_bounds.empty())
      type.bounds =
          std::make_shared<const ArrayBounds>(std::move(shape.sizes), std::move(shape.lower_bounds));
    return make_type(std::move(type));
  }

  Type function_pointer(MethodSignature<Type> signature) {
    TypeName type;
    type.shape = TypeShape::function_pointer;
    type.element = std::move(signature.return_type);
    type.arguments = std::move(signature.parameters);
    type.header = signature.header;
    return make_type(std::move(type));
  }

  Type modified_as(Type element, Type modifier, bool required) {
    return made({.shape = TypeShape::modified,
                 .element = std::move(element),
                 .arguments = {std::move(modifier)},
                 .required = required});
  }
  Type modified(Type element, std::uint32_t modifier_token, bool required) {
    return modified_as(std::move(element), from_token(modifier_token, false), required);
  }
  Type modified_by_handle(Type element, std::uint64_t type_handle, bool required) {
    return modified_as(std::move(element), from_handle(type_handle), required);
  }

  Type variable(std::uint32_t index, bool of_method) {
    of_context = true;
    TypeParts type{.shape = TypeShape::variable, .element = {}, .index = index, .method_variable = of_method};
    const auto& arguments = of_method ? context.method_arguments : context.class_arguments;
    const std::uint32_t owner = of_method ? context.method_token : context.class_token;
    if (index < arguments.size()) {
      type.element = arguments[index] != nullptr ? arguments[index] : unknown_type();
    } else if (owner != 0 && names != nullptr) {
      const std::vector<SharedText>& parameters = names->generic_parameter_names(owner);
      if (index < parameters.size()) type.name = parameters[index];
    }
    return made(std::move(type));
  }

  Type generic_parameter(std::uint32_t generic_param_rid) {
    if (names == nullptr) return unknown_type();
    const GenericParamRow row = names->metadata().generic_param(generic_param_rid);
    TypeName type;
    type.shape = TypeShape::variable;
    type.index = row.number;
    type.method_variable = table_of(row.owner) == MetadataTable::method_def;
    type.name = names->shared_text(row.name);
    return make_type(std::move(type));
  }

  Type from_handle(std::uint64_t type_handle) {
    of_context = true;
    TypeName type = *context.handles->type_of_handle(type_handle);
    type.internal = true;
    if (type.handle == 0) type.handle = type_handle; // the marshalled view names the struct's own
    return make_type(std::move(type));
  }

  MetadataNames* enter_module(std::uint32_t module_index) {
    of_context = true;
    return std::exchange(names, context.modules->module(module_index));
  }
  void leave_module(MetadataNames* previous) { names = previous; }

  SignatureOptions options() const {
    return {.internal = context.handles != nullptr,
            .ready_to_run = context.modules != nullptr,
            .pointer_size = context.pointer_size,
            .byte_order = context.byte_order};
  }
};

MetadataNames::MetadataNames(const Metadata& metadata) : metadata_(&metadata) {}

const SharedText& MetadataNames::shared_assembly_name() {
  if (!assembly_name_) {
    if (metadata_->rows(MetadataTable::assembly) != 0) {
      assembly_name_ = metadata_->string(metadata_->assembly().name);
    } else {
      std::string name = metadata_->string(metadata_->module_name());
      if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) name.resize(dot);
      assembly_name_ = std::move(name);
    }
  }
  return *assembly_name_;
}

// A text of the #Strings heap that many types have.
const SharedText& MetadataNames::shared_text(std::uint32_t index) {
  if (const auto known = texts_.find(index); known != texts_.end()) return known->second;
  return texts_.emplace(index, metadata_->string(index)).first->second;
}

TypeName MetadataNames::read_type_def(std::uint32_t rid) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.assembly = shared_assembly_name();
  for (unsigned level = 0;; ++level) {
    if (level == max_nesting) throw Error(ErrorKind::corrupt, "types nested too deeply");
    const TypeDefRow row = metadata_->type_def(rid);
    type.chain.push_back(metadata_->string(row.name));
    const std::uint32_t encloser = row.nested() ? metadata_->encloser_of(rid) : 0;
    if (encloser == 0) {
      type.name_space = shared_text(row.name_space);
      break;
    }
    rid = encloser;
  }
  std::reverse(type.chain.begin(), type.chain.end());
  return type;
}

TypeName MetadataNames::read_type_ref(std::uint32_t rid) {
  TypeName type;
  type.shape = TypeShape::definition;
  for (unsigned level = 0;; ++level) {
    if (level == max_nesting) throw Error(ErrorKind::corrupt, "types nested too deeply");
    const TypeRefRow row = metadata_->type_ref(rid);
    type.chain.push_back(metadata_->string(row.name));
    if (row.resolution_scope != 0 && table_of(row.resolution_scope) == MetadataTable::type_ref) {
      rid = rid_of(row.resolution_scope);
      continue;
    }
    type.name_space = shared_text(row.name_space);
    if (table_of(row.resolution_scope) == MetadataTable::assembly_ref && rid_of(row.resolution_scope) != 0) {
      type.scope = shared_text(metadata_->assembly_ref(rid_of(row.resolution_scope)).name);
      type.assembly = type.scope;
    } else {
      type.assembly = shared_assembly_name();
    }
    break;
  }
  std::reverse(type.chain.begin(), type.chain.end());
  return type;
}

TypeNamePtr MetadataNames::instance_of(TypeNamePtr definition, std::vector<TypeNamePtr> arguments) {
  if (arguments.empty()) return definition;
  return made_.make(
      {.shape = TypeShape::instance, .element = std::move(definition), .arguments = std::move(arguments)});
}

void MetadataNames::begin_signature() {
  if (type_spec_depth_ == 0) expanded_ = 0;
}

TypeNamePtr MetadataNames::read_type_spec(std::uint32_t rid, const SignatureContext& context) {
  // A TypeSpec may name itself through its own signature.
  struct Depth {
    unsigned& depth;
    explicit Depth(unsigned& d) : depth(d) {
      if (++depth > max_type_spec_depth) {
        --depth;
        throw Error(ErrorKind::corrupt, "type specifications nested too deeply");
      }
    }
    ~Depth() { --depth; }
  } const guard(type_spec_depth_);
  const metadata::Blob blob = metadata_->blob(metadata_->type_spec(rid));
  const BlobBytes bytes(blob);
  expanded_ += bytes.span().size();
  if (expanded_ > max_expanded) throw Error(ErrorKind::corrupt, "type specifications expand without end");
  SignatureReader reader(bytes.span(), blob.begin());
  return read_type(reader, context);
}

TypeNamePtr MetadataNames::reference(std::uint32_t token, std::optional<bool> value_type,
                                     const SignatureContext& context) {
  const MetadataTable table = table_of(token);
  if (rid_of(token) == 0) return unknown_type();
  // The meaning of a TypeSpec depends on the context, so it is not kept.
  if (table == MetadataTable::type_spec) return read_type_spec(rid_of(token), context);
  if (table != MetadataTable::type_def && table != MetadataTable::type_ref) return unknown_type();
  const std::uint64_t key = std::uint64_t{token} << 2 | (value_type ? 2u + *value_type : 0u);
  if (const auto found = types_.find(key); found != types_.end()) return found->second;
  TypeName type =
      table == MetadataTable::type_def ? read_type_def(rid_of(token)) : read_type_ref(rid_of(token));
  type.value_type = value_type;
  return types_.emplace(key, make_type(std::move(type))).first->second;
}

TypeNamePtr MetadataNames::type(std::uint32_t token, const SignatureContext& context) {
  begin_signature();
  return reference(token, std::nullopt, context);
}

TypeNamePtr MetadataNames::type_def(std::uint32_t rid) {
  return reference(token_of(MetadataTable::type_def, rid), std::nullopt, {});
}

TypeNamePtr MetadataNames::type_ref(std::uint32_t rid) {
  return reference(token_of(MetadataTable::type_ref, rid), std::nullopt, {});
}

TypeNamePtr MetadataNames::open_type_def(std::uint32_t rid) {
  if (const auto found = open_types_.find(rid); found != open_types_.end()) return found->second;
  TypeNamePtr type = type_def(rid);
  const std::vector<SharedText>& parameters = generic_parameter_names(token_of(MetadataTable::type_def, rid));
  if (!parameters.empty()) {
    TypeName open = *type;
    open.parameter_names = parameters;
    type = make_type(std::move(open));
  }
  return open_types_.emplace(rid, std::move(type)).first->second;
}

const std::vector<SharedText>& MetadataNames::generic_parameter_names(std::uint32_t owner_token) {
  if (const auto found = parameter_names_.find(owner_token); found != parameter_names_.end())
    return found->second;
  const auto [first, last] = metadata_->generic_params(owner_token);
  if (last - first > max_generic_parameters) throw Error(ErrorKind::corrupt, "too many type parameters");
  std::vector<SharedText> names;
  for (std::uint32_t rid = first; rid < last; ++rid)
    names.push_back(shared_text(metadata_->generic_param(rid).name));
  return parameter_names_.emplace(owner_token, std::move(names)).first->second;
}

MethodSignature<TypeNamePtr> MetadataNames::decode(std::span<const std::byte> bytes,
                                                   const SignatureContext& context, bool& of_context) {
  begin_signature();
  Provider provider{this, context};
  SignatureReader reader(bytes);
  MethodSignature<TypeNamePtr> signature = SignatureDecoder(provider, reader, provider.options()).method();
  of_context = provider.of_context;
  return signature;
}

void MetadataNames::read_signature(std::uint32_t blob, const SignatureContext& context,
                                   QualifiedMethodName& name) {
  if (const auto known = signatures_.find(blob); known != signatures_.end())
    return set_signature(name, known->second);
  const BlobBytes bytes(metadata_->blob(blob));
  bool of_context = false;
  MethodSignature<TypeNamePtr> signature = decode(bytes.span(), context, of_context);
  if (!of_context && signatures_.size() < max_signatures) signatures_.emplace(blob, signature);
  set_signature(name, std::move(signature));
}

void MetadataNames::read_signature(std::span<const std::byte> bytes, const SignatureContext& context,
                                   QualifiedMethodName& name) {
  bool of_context = false;
  set_signature(name, decode(bytes, context, of_context));
}

TypeNamePtr MetadataNames::read_type(SignatureReader& reader, const SignatureContext& context) {
  return read_type_in(this, reader, context);
}

TypeNamePtr MetadataNames::read_type_in(MetadataNames* module, SignatureReader& reader,
                                        const SignatureContext& context) {
  if (module != nullptr) module->begin_signature();
  Provider provider{module, context};
  return SignatureDecoder(provider, reader, provider.options()).type();
}

QualifiedMethodName MetadataNames::method(std::uint32_t method_rid, const SignatureContext& context,
                                          TypeNamePtr declaring_type) {
  const MethodDefRow row = metadata_->method_def(method_rid);
  const std::uint32_t method_token = token_of(MetadataTable::method_def, method_rid);
  SignatureContext own = context;
  own.method_token = method_token;

  QualifiedMethodName name;
  name.method = metadata_->string(row.name);
  name.module = shared_assembly_name();
  name.method_arguments.assign(context.method_arguments.begin(), context.method_arguments.end());
  if (declaring_type == nullptr) {
    if (const std::uint32_t owner = metadata_->owner_of_method(method_rid); owner != 0) {
      own.class_token = token_of(MetadataTable::type_def, owner);
      declaring_type = context.class_arguments.empty()
                           ? open_type_def(owner)
                           : instance_of(type_def(owner),
                                         {context.class_arguments.begin(), context.class_arguments.end()});
    }
  }
  name.declaring_type = std::move(declaring_type);

  try_signature(row.signature, own, name);
  return name;
}

QualifiedMethodName MetadataNames::method_without_signature(std::uint32_t method_rid) {
  QualifiedMethodName name;
  name.method = metadata_->string(metadata_->method_def(method_rid).name);
  name.module = shared_assembly_name();
  if (const std::uint32_t owner = metadata_->owner_of_method(method_rid); owner != 0)
    name.declaring_type = open_type_def(owner);
  return name;
}

QualifiedMethodName MetadataNames::member(std::uint32_t member_ref_rid, const SignatureContext& context,
                                          TypeNamePtr declaring_type) {
  const MemberRefRow row = metadata_->member_ref(member_ref_rid);
  QualifiedMethodName name;
  name.method = metadata_->string(row.name);
  name.module = shared_assembly_name();
  name.method_arguments.assign(context.method_arguments.begin(), context.method_arguments.end());
  if (declaring_type == nullptr && metadata_->valid(row.parent)) {
    const MetadataTable parent = table_of(row.parent);
    if (parent == MetadataTable::method_def) // a vararg call site
      return method(rid_of(row.parent), context);
    if (parent != MetadataTable::module_ref) declaring_type = type(row.parent, context);
  }
  name.declaring_type = std::move(declaring_type);
  try_signature(row.signature, context, name);
  return name;
}

void MetadataNames::try_signature(std::uint32_t blob_index, const SignatureContext& context,
                                  QualifiedMethodName& name) {
  try {
    read_signature(blob_index, context, name);
    if ((name.signature_header & signature::generic) != 0 && name.method_arguments.empty() &&
        context.method_token != 0)
      name.method_parameter_names = generic_parameter_names(context.method_token);
  } catch (const Error& error) {
    name.signature_known = false;
    name.signature_fault = error.what();
  }
}

} // namespace clr
