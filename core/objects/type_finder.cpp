#include "core/objects/type_finder.h"

#include <utility>

namespace clr {
namespace {

constexpr unsigned max_spec_depth = 16;               // TypeSpecs that refer to TypeSpecs
constexpr std::uint32_t true_primitive = 0x0007'0000; // MethodTable flags, category

// The name of a pointer, array or the like, made from the name of `element`.
TypeNamePtr around(TypeShape shape, const TypeUsePtr& element) {
  return make_type(TypeName{.shape = shape, .element = element ? element->name : unknown_type()});
}

TypeUsePtr share(TypeUse use) {
  return std::make_shared<const TypeUse>(std::move(use));
}

} // namespace

// Makes TypeUses from the parts that the signature decoder finds.
struct TypeFinder::Provider {
  using Type = TypeUsePtr;

  TypeFinder* finder;
  const TypeScope& scope;

  Type made(TypeUse use) {
    finder->made_bytes_ +=
        sizeof(TypeUse) + sizeof(TypeName) + use.name->arguments.size() * sizeof(TypeNamePtr);
    return share(std::move(use));
  }

  Type primitive(std::uint8_t element_type) {
    const auto number = static_cast<ElementType>(element_type);
    if (number != ElementType::string && number != ElementType::object) return number_use(number);
    return made({.kind = TypeUse::Kind::reference,
                 .method_table = finder->global_table(number == ElementType::string ? "StringMethodTable"
                                                                                    : "ObjectMethodTable"),
                 .name = primitive_type(number)});
  }

  Type from_token(std::uint32_t token, bool value_type) {
    if (rid_of(token) == 0) return unknown_use();
    if (table_of(token) == MetadataTable::type_spec) return from_spec(rid_of(token));
    Address table = 0;
    try {
      table = finder->loaded(scope.module, token);
      if (table != 0) {
        const RuntimeType& type = finder->names_->types().type(table);
        if (type.table.generic() != MethodTable::Generic::definition) return finder->of_handle(table);
      }
    } catch (const Error&) {
      table = 0; // only its name is left
    }
    TypeUse use{.kind = value_type ? TypeUse::Kind::unknown : TypeUse::Kind::reference};
    use.method_table = table; // for a generic type: the definition, which instance() needs
    use.name = name_of(token);
    return made(std::move(use));
  }

  Type from_spec(std::uint32_t rid) {
    if (finder->spec_depth_ >= max_spec_depth)
      throw Error(ErrorKind::corrupt, "type specifications nested too deeply");
    ++finder->spec_depth_;
    try {
      Type type = finder->names_->named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
        const metadata::Blob blob = names.metadata().blob(names.metadata().type_spec(rid));
        const BlobBytes bytes(blob);
        finder->expanded_ += bytes.span().size();
        if (finder->expanded_ > max_expanded)
          throw Error(ErrorKind::corrupt, "type specifications expand without end");
        SignatureReader reader(bytes.span(), blob.begin());
        return finder->decode(reader, scope);
      });
      --finder->spec_depth_;
      return type;
    } catch (...) {
      --finder->spec_depth_;
      throw;
    }
  }

  TypeNamePtr name_of(std::uint32_t token) {
    try {
      return finder->names_->named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
        return names.type(token);
      });
    } catch (const Error&) {
      return unknown_type();
    }
  }

  Type instance(const Type& definition, const std::vector<Type>& arguments) {
    std::vector<TypeNamePtr> names;
    names.reserve(arguments.size());
    for (const Type& argument : arguments) names.push_back(argument->name);
    TypeUse use = *definition;
    use.name = instantiate(definition->name, std::move(names));
    const Address open = std::exchange(use.method_table, 0);
    if (open != 0)
      if (TypeUsePtr loaded = finder->use_of_instance(open, arguments, use))
        return loaded->name == use.name ? made(*loaded) : loaded;
    return made(std::move(use));
  }

  Type array_of(Type element, std::uint32_t rank, bool vector, TypeName name) {
    name.element = element->name;
    TypeUse use{.kind = TypeUse::Kind::array, .element = std::move(element), .rank = rank, .vector = vector};
    use.name = make_type(std::move(name));
    return made(std::move(use));
  }
  Type szarray(Type element) { return array_of(std::move(element), 1, true, {.shape = TypeShape::szarray}); }
  Type array(Type element, const ArrayShape& shape) {
    TypeName name{.shape = TypeShape::array};
    name.rank = shape.rank;
    return array_of(std::move(element), shape.rank, false, std::move(name));
  }
  Type indirect(TypeUse::Kind kind, TypeShape shape, const Type& element) {
    TypeUse use{.kind = kind, .element = element};
    use.name = around(shape, element);
    return made(std::move(use));
  }
  Type pointer(const Type& element) { return indirect(TypeUse::Kind::pointer, TypeShape::pointer, element); }
  Type byref(const Type& element) { return indirect(TypeUse::Kind::byref, TypeShape::byref, element); }
  Type pinned(Type element) { return element; }
  Type function_pointer(const MethodSignature<Type>& signature) {
    TypeName name{.shape = TypeShape::function_pointer, .element = signature.return_type->name};
    for (const Type& parameter : signature.parameters) name.arguments.push_back(parameter->name);
    name.header = signature.header;
    return made({.kind = TypeUse::Kind::pointer, .name = make_type(std::move(name))});
  }
  Type variable(std::uint32_t index, bool of_method) {
    const std::span<const Address> arguments = of_method ? scope.method_arguments : scope.class_arguments;
    if (index < arguments.size()) return finder->of_handle(arguments[index]);
    TypeName name{.shape = TypeShape::variable};
    name.index = index;
    name.method_variable = of_method;
    return made({.kind = TypeUse::Kind::unknown, .name = make_type(std::move(name))});
  }
  Type modified(Type element, std::uint32_t, bool) { return element; }
  Type modified_by_handle(Type element, std::uint64_t, bool) { return element; }
  Type from_handle(std::uint64_t handle) { return finder->of_handle(handle); }
  // ReadyToRun's own element types do not occur in metadata.
  Type canon() { return unknown_use(); }
  Type native_value_type(const Type&) { return unknown_use(); }
  Type generic_parameter(std::uint32_t) { return unknown_use(); }
  int enter_module(std::uint32_t) { return 0; }
  void leave_module(int) {}
};

Address TypeFinder::global_table(std::string_view global) {
  const auto [slot, is_new] = global_tables_.try_emplace(global, 0);
  if (!is_new) return slot->second;
  try {
    if (const auto variable = target_->find_global(global)) slot->second = target_->read_pointer(*variable);
  } catch (const Error&) {
    // The type still has a name.
  }
  return slot->second;
}

TypeUsePtr TypeFinder::of_handle(Address handle) {
  handle = target_->platform().wrap(handle);
  if (const auto known = uses_.find(handle); known != uses_.end()) return known->second;
  if (depth_ >= TypeNames::max_depth) return unknown_use();
  // A damaged type may contain itself.
  uses_[handle] = unknown_use();
  ++depth_;
  TypeUsePtr use;
  try {
    if (is_type_desc(handle)) {
      const TypeDesc desc = read_type_desc(*target_, handle);
      const TypeNamePtr name = names_->types().type_of_handle(handle);
      switch (desc.element_type) {
      case element_type::ptr:
      case element_type::byref:
        use = share(
            {.kind = desc.element_type == element_type::ptr ? TypeUse::Kind::pointer : TypeUse::Kind::byref,
             .element = of_handle(desc.argument),
             .name = name});
        break;
      case element_type::fnptr:
        use = share({.kind = TypeUse::Kind::pointer, .name = name});
        break;
      default:
        use = unknown_use(name);
      }
    } else {
      use = use_of(names_->types().type(handle));
    }
  } catch (const Error&) {
    use = unknown_use();
  }
  --depth_;
  uses_[handle] = use;
  return use;
}

TypeUse TypeFinder::nameless(const MethodTable& table) {
  TypeUse use{.kind = TypeUse::Kind::reference, .method_table = table.address};
  if (table.is_array()) {
    use.kind = TypeUse::Kind::array;
    use.vector = table.is_szarray();
    use.rank = names_->types().tables().array_rank(table);
  } else if (table.is_value_type()) {
    use.kind = TypeUse::Kind::value;
    if (table.category() == true_primitive) {
      const Address at = target_->field_address(table.ee_class, "EEClass", "InternalCorElementType");
      const auto number = static_cast<ElementType>(target_->read_u8(at));
      if (size_of_number(number, target_->pointer_size()) != 0) {
        use.kind = TypeUse::Kind::number;
        use.number = number;
      } else if (number == ElementType::void_) {
        use.kind = TypeUse::Kind::nothing;
      }
    }
  }
  return use;
}

TypeUsePtr TypeFinder::use_of(const RuntimeType& type) {
  TypeUse use = nameless(type.table);
  use.name = type.name ? type.name : unknown_type();
  if (use.kind == TypeUse::Kind::array) {
    use.element = of_handle(type.table.per_inst_info);
  } else if (use.kind == TypeUse::Kind::number) {
    use.name = primitive_type(use.number);
  } else if (use.kind == TypeUse::Kind::reference && use.name->shape == TypeShape::definition &&
             use.name->name_space == "System" && use.name->chain.size() == 1 &&
             use.name->chain.front() == "__Canon") {
    use.canonical = true;
    use.method_table = global_table("ObjectMethodTable");
  }
  return share(std::move(use));
}

TypeUsePtr TypeFinder::read(SignatureReader& reader, const TypeScope& scope) {
  expanded_ = made_bytes_ = 0;
  return decode(reader, scope);
}

TypeUsePtr TypeFinder::decode(SignatureReader& reader, const TypeScope& scope) {
  Provider provider{.finder = this, .scope = scope};
  SignatureDecoder<Provider> decoder(
      provider, reader,
      {.pointer_size = target_->pointer_size(), .byte_order = target_->platform().byte_order});
  return decoder.type();
}

TypeFinder::Signature TypeFinder::method(std::uint32_t method_rid, const TypeScope& scope) {
  return names_->named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
    const Metadata& metadata = names.metadata();
    const metadata::Blob blob = metadata.blob(metadata.method_def(method_rid).signature);
    const BlobBytes bytes(blob);
    SignatureReader reader(bytes.span(), blob.begin());
    return method(reader, scope);
  });
}

TypeFinder::Signature TypeFinder::method(SignatureReader& reader, const TypeScope& scope) {
  expanded_ = made_bytes_ = 0;
  Provider provider{.finder = this, .scope = scope};
  auto decoded = SignatureDecoder<Provider>(provider, reader).method();
  return {.has_this = decoded.has_this(),
          .return_type = std::move(decoded.return_type),
          .parameters = std::move(decoded.parameters)};
}

std::vector<TypeUsePtr> TypeFinder::locals(std::uint32_t signature_rid, const TypeScope& scope) {
  return names_->named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
    const Metadata& metadata = names.metadata();
    const metadata::Blob blob = metadata.blob(metadata.stand_alone_sig(signature_rid));
    const BlobBytes bytes(blob);
    SignatureReader reader(bytes.span(), blob.begin());
    if ((reader.u8() & signature::convention_mask) != signature::local_variables)
      reader.fail("not a signature of locals");
    const std::uint32_t count = reader.compressed_unsigned();
    if (count > max_locals || count > reader.remaining()) reader.fail("more locals than the signature holds");
    std::vector<TypeUsePtr> locals;
    locals.reserve(count);
    expanded_ = made_bytes_ = 0;
    for (std::uint32_t i = 0; i < count; ++i) locals.push_back(decode(reader, scope));
    return locals;
  });
}

TypeUsePtr TypeFinder::field(std::uint32_t field_rid, const TypeScope& scope) {
  return names_->named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
    const Metadata& metadata = names.metadata();
    const metadata::Blob blob = metadata.blob(metadata.field(field_rid).signature);
    const BlobBytes bytes(blob);
    SignatureReader reader(bytes.span(), blob.begin());
    if ((reader.u8() & signature::convention_mask) != signature::field)
      reader.fail("not the signature of a field");
    return read(reader, scope);
  });
}

Address TypeFinder::in_map(Address module, std::string_view name, std::uint32_t rid) {
  const auto [slot, is_new] = maps_.try_emplace({module, name});
  if (is_new) slot->second = read_lookup_map(*target_, module, name);
  return find_in(*target_, slot->second, rid);
}

Address TypeFinder::loaded(Address module, std::uint32_t token) {
  const auto key = std::pair(module, token);
  if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
  Address found = 0;
  if (table_of(token) == MetadataTable::type_def) {
    found = in_map(module, "TypeDefToMethodTableMap", rid_of(token));
  } else if (table_of(token) == MetadataTable::type_ref) {
    found = in_map(module, "TypeRefToMethodTableMap", rid_of(token));
    if (found == 0) found = by_name(module, rid_of(token)); // this module has not resolved it yet
  }
  loaded_.emplace(key, found);
  return found;
}

void TypeFinder::forget() {
  names_->types().forget_faults();
  uses_.clear();
  loaded_.clear();
  maps_.clear();
  by_name_.clear();
  instances_.clear();
  instances_by_key_.clear();
  found_instances_.clear();
  found_bytes_ = 0;
  listed_.clear();
  all_listed_ = false;
  instance_count_ = 0;
  chain_count_ = 0;
  instance_tables_.clear();
  core_types_.clear();
  global_tables_.clear();
  modules_by_name_.clear();
}

} // namespace clr
