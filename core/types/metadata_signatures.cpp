// The part of MetadataNames that reads signatures.
#include "core/types/metadata_names.h"

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

std::size_t text_size(const TypeName& type) {
  std::size_t size = type.name_space.str().size();
  for (const std::string& part : type.chain) size += part.size();
  return size;
}

std::size_t size_of(const TypeParts& parts) {
  return sizeof(TypeName) + parts.arguments.size() * sizeof(TypeNamePtr);
}

// The context of a signature that is its own, or of the one around it.
struct OwnContext {
  explicit OwnContext(const SignatureContext& of) : context(of) {
    if (context.budget == nullptr) context.budget = &budget;
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

  SignatureBudget budget;
  SignatureContext context;
};

void charge(const SignatureContext& context, std::size_t bytes) {
  context.budget->made += bytes;
  if (context.budget->made > MetadataNames::max_made)
    throw Error(ErrorKind::corrupt, "a signature of too many types");
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

// Makes TypeNames from the parts that the signature decoder finds. `context` has a budget.
struct MetadataNames::Provider {
  using Type = TypeNamePtr;

  MetadataNames* names; // null within a module that is not available
  const SignatureContext& context;
  bool of_context = false; // the context had a part in what was made
  std::unordered_map<std::uint64_t, Type> by_handle;

  // Each part takes a place in a list of them, too.
  void charge_part(std::size_t bytes = 0) { charge(context, 2 * sizeof(Type) + bytes); }

  Type primitive(std::uint8_t element_type) {
    charge_part();
    return primitive_type(static_cast<ElementType>(element_type));
  }
  Type from_token(std::uint32_t token, bool value_type) {
    if (table_of(token) == MetadataTable::type_spec) of_context = true;
    Type type = names != nullptr ? names->reference(token, value_type, context) : unknown_type();
    charge_part(type->shape == TypeShape::definition ? text_size(*type) : 0);
    return type;
  }
  Type instance(Type definition, std::vector<Type> arguments) {
    charge_part(sizeof(TypeName));
    return names != nullptr ? names->instance_of(std::move(definition), std::move(arguments))
                            : instantiate(std::move(definition), std::move(arguments));
  }
  // Without `names` there is no pool that keeps the type.
  Type made(TypeParts parts) {
    charge_part(size_of(parts));
    return names != nullptr ? names->make(std::move(parts)) : TypePool().make(std::move(parts));
  }
  Type made_alone(TypeName type) {
    charge_part(size_in_memory(type));
    return make_type(std::move(type));
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
    return made_alone(std::move(type));
  }

  Type function_pointer(MethodSignature<Type> signature) {
    TypeName type;
    type.shape = TypeShape::function_pointer;
    type.element = std::move(signature.return_type);
    type.arguments = std::move(signature.parameters);
    type.header = signature.header;
    return made_alone(std::move(type));
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
    return made_alone(std::move(type));
  }

  Type from_handle(std::uint64_t type_handle) {
    of_context = true;
    charge_part();
    if (const auto known = by_handle.find(type_handle); known != by_handle.end()) return known->second;
    TypeName type = *context.handles->type_of_handle(type_handle);
    type.internal = true;
    if (type.handle == 0) type.handle = type_handle; // the marshalled view names the struct's own
    return by_handle.emplace(type_handle, made_alone(std::move(type))).first->second;
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

TypeNamePtr MetadataNames::instance_of(TypeNamePtr definition, std::vector<TypeNamePtr> arguments) {
  if (arguments.empty()) return definition;
  return make(
      {.shape = TypeShape::instance, .element = std::move(definition), .arguments = std::move(arguments)});
}

TypeNamePtr MetadataNames::make(TypeParts parts) {
  const std::size_t before = made_.size(), size = size_of(parts);
  TypeNamePtr type = made_.make(std::move(parts));
  if (made_.size() != before) room_->keep(size);
  return type;
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
  context.budget->expanded += bytes.span().size();
  if (context.budget->expanded > max_expanded)
    throw Error(ErrorKind::corrupt, "type specifications expand without end");
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
  return definition(token, value_type);
}

TypeNamePtr MetadataNames::type(std::uint32_t token, const SignatureContext& context) {
  const OwnContext own(context);
  return reference(token, std::nullopt, own.context);
}

MethodSignature<TypeNamePtr> MetadataNames::decode(std::span<const std::byte> bytes,
                                                   const SignatureContext& context, bool& of_context) {
  const OwnContext own(context);
  Provider provider{this, own.context};
  SignatureReader reader(bytes);
  MethodSignature<TypeNamePtr> signature = SignatureDecoder(provider, reader, provider.options()).method();
  of_context = provider.of_context;
  return signature;
}

void MetadataNames::read_signature(std::uint32_t blob, const SignatureContext& context,
                                   QualifiedMethodName& name) {
  room_->settle();
  if (const auto known = signatures_.find(blob); known != signatures_.end())
    return set_signature(name, known->second);
  const BlobBytes bytes(metadata_->blob(blob));
  bool of_context = false;
  MethodSignature<TypeNamePtr> signature = decode(bytes.span(), context, of_context);
  if (!of_context && signatures_.size() < max_signatures) {
    room_->keep(NameRoom::map_node + sizeof(signature) + signature.parameters.size() * sizeof(TypeNamePtr));
    signatures_.emplace(blob, signature);
  }
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
  const OwnContext own(context);
  Provider provider{module, own.context};
  return SignatureDecoder(provider, reader, provider.options()).type();
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
