#include "core/types/method_describer.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

// [rt] MethodImplAttributes.NoOptimization
constexpr std::uint16_t impl_no_optimization = 0x0040;
constexpr std::size_t max_dynamic_name = 4'096; // bytes of the name of a dynamic method

MethodKind kind_of(const MethodDesc& desc) {
  switch (desc.classification()) {
  case MethodClassification::il:
    return MethodKind::il;
  case MethodClassification::fcall:
    return MethodKind::fcall;
  case MethodClassification::pinvoke:
    return MethodKind::pinvoke;
  case MethodClassification::eeimpl:
    return MethodKind::eeimpl;
  case MethodClassification::array:
    return MethodKind::array;
  case MethodClassification::instantiated:
    return MethodKind::instantiated;
  case MethodClassification::com_interop:
    return MethodKind::com_interop;
  case MethodClassification::dynamic:
    return MethodKind::dynamic;
  }
  return MethodKind::unknown;
}

// The arguments that stand for the variables of a type.
std::span<const TypeNamePtr> class_arguments(const TypeNamePtr& type) {
  if (!type) return {};
  if (type->shape == TypeShape::instance) return type->arguments;
  // The methods of an array are generic over its element.
  if (type->shape == TypeShape::szarray || type->shape == TypeShape::array) return {&type->element, 1};
  return {};
}

void note(std::string& degraded, std::string_view why) {
  if (degraded.empty()) degraded = why;
}

} // namespace

struct MethodDescriber::Draft {
  UnspelledMethod method;
  MethodParts parts = MethodParts::all;
  std::shared_ptr<QualifiedMethodName> name = std::make_shared<QualifiedMethodName>();
  std::optional<MethodDescs::AsyncData> async;
  std::string async_fault; // why that is not known of an async method
  bool token_lies = false; // the module's metadata cannot have this method, or the type cannot
};

MethodDescriber::MethodDescriber(const Target& target, TypeNames& types) : target_(&target), types_(&types) {}

const MethodDescs& MethodDescriber::descs() {
  if (!descs_) descs_.emplace(*target_);
  return *descs_;
}

MethodDescriber::Checked MethodDescriber::check(Address method_desc) {
  Checked checked;
  checked.desc = descs().read(method_desc);
  checked.type = &types_->type(checked.desc.method_table);
  const MethodDesc& desc = checked.desc;
  const auto kind = desc.classification();
  if (kind == MethodClassification::com_interop && target_->platform().os == Os::unix_like)
    throw_corrupt(desc.address, "MethodDesc of a kind that this system does not have");
  if (kind == MethodClassification::array && !checked.type->table.is_array())
    throw_corrupt(desc.address, "array method of a type that is no array");
  if (desc.rid == 0 && kind != MethodClassification::array && kind != MethodClassification::dynamic)
    throw_corrupt(desc.address, "MethodDesc without a token");
  return checked;
}

UnspelledMethod MethodDescriber::describe(const Checked& checked, MethodParts parts) {
  const MethodDesc& desc = checked.desc;
  const RuntimeType& type = *checked.type;
  Draft draft;
  draft.parts = parts;
  UnspelledMethod& method = draft.method;
  method.method_desc = desc.address;
  method.method_table = desc.method_table;
  method.token = desc.token();
  method.kind = kind_of(desc);
  method.module = type.module ? type.module->name : SharedText("?");
  if (type.module) {
    method.module_path = type.module->path;
    method.runtime_module = type.module->module.address;
    draft.name->module = type.module->simple_name;
  }
  bool named = false;
  try {
    switch (desc.classification()) {
    case MethodClassification::dynamic:
      name_dynamic_method(checked, draft);
      named = true;
      break;
    case MethodClassification::array:
      name_array_method(checked, draft);
      named = true;
      break;
    default:
      if (parts == MethodParts::all) read_async(desc, draft);
      if (type.module && type.name) {
        name_from_metadata(checked, draft);
        named = true;
      } else {
        // Not thrown: a module without metadata may have ten thousand methods.
        note(method.degraded, type.fault.empty() ? "the type has no name" : type.fault);
      }
    }
  } catch (const Error& fault) {
    if (draft.token_lies) throw;
    note(method.degraded, fault.what());
  }
  if (named) {
    if (type.module && method.name_from == NameSource::assembly)
      note(method.degraded, type.module->metadata.reservation());
    method.signature_known = draft.name->signature_known;
    method.qualified = std::move(draft.name);
  } else {
    method.name_from = NameSource::token;
  }
  return std::move(draft.method);
}

void MethodDescriber::read_async(const MethodDesc& desc, Draft& draft) {
  if (!desc.has_async_data()) return;
  try {
    draft.async = descs().async_data(desc);
  } catch (const Error& error) {
    draft.async_fault = error.what();
    draft.method.kind = MethodKind::unknown;
    return;
  }
  if (draft.async->thunk)
    draft.method.kind = MethodKind::async_thunk;
  else
    draft.method.runtime_async = draft.async->variant;
  draft.method.converted_to_async = draft.async->converted;
}

void MethodDescriber::name_from_metadata(const Checked& checked, Draft& draft) {
  const MethodDesc& desc = checked.desc;
  const RuntimeType& type = *checked.type;
  note(draft.method.degraded, type.fault);
  QualifiedMethodName& name = *draft.name;
  name.declaring_type = type.name;
  const bool all = draft.parts == MethodParts::all;
  if (all && desc.classification() == MethodClassification::instantiated)
    add_method_arguments(checked, draft);
  ModuleMetadata& metadata = type.module->metadata;
  const MethodDefRow row = metadata.with([&](MetadataNames& names) {
    if (desc.rid > names.metadata().rows(MetadataTable::method_def)) {
      draft.token_lies =
          type.module->module.dynamic_metadata == 0 && !type.module->module.edit_and_continue();
      if (draft.token_lies) throw_corrupt(desc.address, "MethodDesc whose token its module does not have");
      throw Error(ErrorKind::memory_missing,
                  fmt::format("{} has no row {:#x}: its metadata in memory is older than the method",
                              type.module->name.str(), desc.token()));
    }
    check_owner(checked, names.metadata(), draft);
    if (name.module.empty()) name.module = names.shared_assembly_name();
    const MethodDefRow found = names.metadata().method_def(desc.rid);
    name.method = names.metadata().string(found.name);
    return found;
  });
  draft.method.name_from = metadata.source();
  draft.method.no_optimization = (row.impl_flags & impl_no_optimization) != 0;
  if (!all) return;
  try {
    if (!draft.async_fault.empty())
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("whether this is the user's method or a thunk of an async one is not known: {}",
                              draft.async_fault));
    // An async variant returns the result of the task, so its signature differs from the one in metadata.
    if (draft.async && draft.async->variant) {
      if (draft.async->signature.address == 0)
        throw Error(ErrorKind::unsupported_contract,
                    fmt::format("where the runtime keeps the signature of an async method is not known{}",
                                descs().why_no_async_signature()));
      add_stored_signature(checked, draft.async->signature, draft);
      return;
    }
    metadata.with([&](MetadataNames& names) {
      SignatureContext context;
      context.class_arguments = class_arguments(type.name);
      context.method_arguments = name.method_arguments;
      if (context.class_arguments.empty())
        context.class_token = token_of(MetadataTable::type_def, type.table.typedef_rid());
      if (context.method_arguments.empty()) context.method_token = desc.token();
      names.read_signature(row.signature, context, name);
      if ((name.signature_header & signature::generic) != 0 && name.method_arguments.empty())
        name.method_parameter_names = names.generic_parameter_names(desc.token());
    });
  } catch (const Error& fault) {
    note(draft.method.degraded, fault.what());
  }
}

// The token's parts lie in the MethodDesc and in its chunk; when one of them is damaged, it is the token of a
// method of some other type. Methods that were added to a type later stand in no list that can be trusted.
void MethodDescriber::check_owner(const Checked& checked, const Metadata& metadata, Draft& draft) {
  const RuntimeType& type = *checked.type;
  const std::uint32_t owner = type.table.typedef_rid();
  const auto& module = type.module->module;
  if (owner == 0 || owner > metadata.rows(MetadataTable::type_def) || module.dynamic_metadata != 0 ||
      module.edit_and_continue() || metadata.rows(MetadataTable::method_ptr) != 0)
    return;
  if (!type.methods) type.methods = metadata.method_range(owner);
  const auto [first, last] = *type.methods;
  draft.token_lies = true;
  if (checked.desc.rid < first || checked.desc.rid >= last)
    throw_corrupt(checked.desc.address, "MethodDesc whose token is that of another type's method");
  if (last - first > 1) tokens_.check(checked.desc, type.table, descs(), types_->tables());
  draft.token_lies = false;
}

void MethodDescriber::add_method_arguments(const Checked& checked, Draft& draft) {
  const MethodInstantiation of = descs().instantiation(checked.desc);
  if (of.arguments == 0) return;
  const std::size_t pointer = target_->pointer_size();
  std::vector<std::byte> raw(of.count * pointer);
  target_->read_bytes(of.arguments, raw);
  for (std::size_t i = 0; i < of.count; ++i) {
    const auto word = std::span(raw).subspan(i * pointer);
    const ByteOrder order = target_->platform().byte_order;
    const Address handle = pointer == 8 ? load<std::uint64_t>(word, order) : load<std::uint32_t>(word, order);
    draft.name->method_arguments.push_back(types_->argument(handle));
    if (draft.name->method_arguments.back()->shape == TypeShape::unknown)
      note(draft.method.degraded, "a type argument of the method could not be read");
  }
}

void MethodDescriber::name_array_method(const Checked& checked, Draft& draft) {
  const RuntimeType& type = *checked.type;
  if (!type.name) throw Error(ErrorKind::memory_missing, type.fault);
  note(draft.method.degraded, type.fault);
  const MethodTable& table = type.table;
  if (!table.num_non_virtual_slots && table.canonical == table.address)
    throw Error(ErrorKind::unsupported_contract, "the number of an array's slots is not known");
  const unsigned slots =
      table.num_virtuals + (table.canonical == table.address ? table.num_non_virtual_slots.value_or(0) : 0u);
  if (checked.desc.slot < slots)
    throw_corrupt(checked.desc.address, "array method with a slot of its base types");
  static constexpr std::array<std::string_view, 3> accessors{"Get", "Set", "Address"};
  const unsigned index = checked.desc.slot - slots;
  draft.name->declaring_type = type.name;
  draft.name->method = index < accessors.size() ? accessors[index] : ".ctor";
  draft.method.name_from = NameSource::memory;
  try {
    add_stored_signature(checked, descs().stored_signature(checked.desc), draft);
  } catch (const Error& fault) {
    note(draft.method.degraded, fault.what());
  }
}

void MethodDescriber::name_dynamic_method(const Checked& checked, Draft& draft) {
  draft.method.kind = MethodKind::unknown; // what cannot be read may be either
  const DynamicMethod dynamic = descs().dynamic(checked.desc);
  draft.method.kind = dynamic.il_stub ? MethodKind::il_stub : MethodKind::dynamic;
  draft.name->container = dynamic.lcg ? MethodContainer::dynamic_class : MethodContainer::il_stub_class;
  if (dynamic.name == 0) throw_corrupt(checked.desc.address, "dynamic method without a name");
  draft.name->method = target_->read_utf8(dynamic.name, max_dynamic_name);
  // Freed memory may still look like a dynamic method, but its name is rarely valid text.
  if (!is_utf8(draft.name->method)) throw_corrupt(dynamic.name, "name of a dynamic method that is no text");
  draft.method.name_from = NameSource::memory;
  try {
    add_stored_signature(checked, descs().stored_signature(checked.desc), draft);
  } catch (const Error& fault) {
    note(draft.method.degraded, fault.what());
  }
}

void MethodDescriber::add_stored_signature(const Checked& checked, const StoredSignature& where,
                                           Draft& draft) {
  const RuntimeType& type = *checked.type;
  if (draft.parts != MethodParts::all) return;
  if (where.address == 0) throw Error(ErrorKind::memory_missing, "the method has no signature");
  if (!type.module) throw Error(ErrorKind::memory_missing, type.fault);
  std::vector<std::byte> blob(where.size);
  target_->read_bytes(where.address, blob);
  SignatureContext context;
  context.class_arguments = class_arguments(type.name);
  context.method_arguments = draft.name->method_arguments;
  context.handles = types_;
  context.pointer_size = target_->pointer_size();
  context.byte_order = target_->platform().byte_order;
  type.module->metadata.with([&](MetadataNames& names) { names.read_signature(blob, context, *draft.name); });
}

} // namespace clr
