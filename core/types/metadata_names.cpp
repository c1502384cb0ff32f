#include "core/types/metadata_names.h"

#include <algorithm>
#include <utility>

namespace clr {

MetadataNames::MetadataNames(const Metadata& metadata, std::shared_ptr<NameRoom> room)
    : metadata_(&metadata), room_(room ? std::move(room) : std::make_shared<NameRoom>()) {
  room_->add(*this);
}

MetadataNames::~MetadataNames() {
  room_->remove(*this);
}

void MetadataNames::drop_names() {
  types_.clear();
  open_types_.clear();
  parameter_names_.clear();
  texts_.clear();
  made_ = TypePool();
  signatures_.clear();
}

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
  const SharedText& text = texts_.emplace(index, metadata_->string(index)).first->second;
  room_->keep(NameRoom::map_node + text.str().size());
  return text;
}

// Puts a name of the #Strings heap behind those of the types within it, which have `size` bytes so far.
void MetadataNames::add_name(TypeName& type, std::uint32_t index, std::size_t& size) const {
  type.chain.push_back(metadata_->string(index));
  size += type.chain.back().size();
  if (size > max_type_text) throw Error(ErrorKind::corrupt, "a type with a name that is too long");
}

TypeName MetadataNames::read_type_def(std::uint32_t rid) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.assembly = shared_assembly_name();
  std::size_t size = 0;
  for (unsigned level = 0;; ++level) {
    if (level == max_nesting) throw Error(ErrorKind::corrupt, "types nested too deeply");
    const TypeDefRow row = metadata_->type_def(rid);
    add_name(type, row.name, size);
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
  std::size_t size = 0;
  for (unsigned level = 0;; ++level) {
    if (level == max_nesting) throw Error(ErrorKind::corrupt, "types nested too deeply");
    const TypeRefRow row = metadata_->type_ref(rid);
    add_name(type, row.name, size);
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

TypeNamePtr MetadataNames::definition(std::uint32_t token, std::optional<bool> value_type) {
  room_->settle();
  const std::uint64_t key = std::uint64_t{token} << 2 | (value_type ? 2u + *value_type : 0u);
  if (const auto found = types_.find(key); found != types_.end()) return found->second;
  TypeName type = table_of(token) == MetadataTable::type_def ? read_type_def(rid_of(token))
                                                             : read_type_ref(rid_of(token));
  type.value_type = value_type;
  room_->keep(NameRoom::map_node + size_in_memory(type));
  return types_.emplace(key, make_type(std::move(type))).first->second;
}

TypeNamePtr MetadataNames::type_def(std::uint32_t rid) {
  return rid == 0 ? unknown_type() : definition(token_of(MetadataTable::type_def, rid), std::nullopt);
}

TypeNamePtr MetadataNames::type_ref(std::uint32_t rid) {
  return rid == 0 ? unknown_type() : definition(token_of(MetadataTable::type_ref, rid), std::nullopt);
}

TypeNamePtr MetadataNames::open_type_def(std::uint32_t rid) {
  if (const auto found = open_types_.find(rid); found != open_types_.end()) return found->second;
  TypeNamePtr type = type_def(rid);
  const std::vector<SharedText>& parameters = generic_parameter_names(token_of(MetadataTable::type_def, rid));
  if (!parameters.empty()) {
    TypeName open = *type;
    open.parameter_names = parameters;
    room_->keep(NameRoom::map_node + size_in_memory(open));
    type = make_type(std::move(open));
  }
  return open_types_.emplace(rid, std::move(type)).first->second;
}

const std::vector<SharedText>& MetadataNames::generic_parameter_names(std::uint32_t owner_token) {
  room_->settle();
  if (const auto found = parameter_names_.find(owner_token); found != parameter_names_.end())
    return found->second;
  const auto [first, last] = metadata_->generic_params(owner_token);
  if (last - first > max_generic_parameters) throw Error(ErrorKind::corrupt, "too many type parameters");
  std::vector<SharedText> names;
  for (std::uint32_t rid = first; rid < last; ++rid)
    names.push_back(shared_text(metadata_->generic_param(rid).name));
  room_->keep(NameRoom::map_node + names.size() * sizeof(SharedText));
  return parameter_names_.emplace(owner_token, std::move(names)).first->second;
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

} // namespace clr
