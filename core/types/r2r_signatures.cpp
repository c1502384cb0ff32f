#include "core/types/r2r_signatures.h"

#include "core/metadata/signature.h"

namespace clr {
namespace {

// Flags of a method's encoding, READYTORUN_METHOD_SIG_*.
constexpr std::uint32_t has_method_arguments = 0x04, slot_instead_of_token = 0x08, member_ref_token = 0x10,
                        has_constrained_type = 0x20, has_owner_type = 0x40, has_module = 0x80;

// A provider that makes nothing: it serves to find where an instance entry ends.
struct SkippingProvider {
  struct Type {};
  Type primitive(std::uint8_t) { return {}; }
  Type from_token(std::uint32_t, bool) { return {}; }
  Type instance(Type, const std::vector<Type>&) { return {}; }
  Type szarray(Type) { return {}; }
  Type array(Type, const ArrayShape&) { return {}; }
  Type pointer(Type) { return {}; }
  Type byref(Type) { return {}; }
  Type pinned(Type) { return {}; }
  Type function_pointer(const MethodSignature<Type>&) { return {}; }
  Type variable(std::uint32_t, bool) { return {}; }
  Type modified(Type, std::uint32_t, bool) { return {}; }
  Type from_handle(std::uint64_t) { return {}; }
  Type modified_by_handle(Type, std::uint64_t, bool) { return {}; }
  Type canon() { return {}; }
  Type native_value_type(Type) { return {}; }
  Type generic_parameter(std::uint32_t) { return {}; }
  int enter_module(std::uint32_t) { return 0; }
  void leave_module(int) {}
};

// Decodes the encoding of a method, handing each part to `parts`.
template<typename Parts>
void read_method_encoding(SignatureReader& reader, Parts&& parts) {
  const std::uint32_t flags = reader.compressed_unsigned();
  if ((flags & has_module) != 0) parts.module(reader.compressed_unsigned());
  if ((flags & has_owner_type) != 0) parts.owner_type();
  if ((flags & slot_instead_of_token) != 0) reader.fail("instance entry names its method by slot");
  parts.token((flags & member_ref_token) != 0 ? MetadataTable::member_ref : MetadataTable::method_def,
              reader.compressed_unsigned());
  if ((flags & has_method_arguments) != 0) {
    const std::uint32_t count = reader.compressed_unsigned();
    if (count > reader.remaining()) reader.fail("signature shorter than its count");
    if (count > R2RSignatures::max_method_arguments) reader.fail("method of too many type arguments");
    for (std::uint32_t i = 0; i < count; ++i) parts.method_argument();
  }
  if ((flags & has_constrained_type) != 0) parts.constrained_type();
}

} // namespace

QualifiedMethodName R2RMethodReference::name() const {
  SignatureContext context;
  context.method_arguments = method_arguments;
  if (owner != nullptr && owner->shape == TypeShape::instance) context.class_arguments = owner->arguments;
  if (table_of(token) == MetadataTable::method_def) return names->method(rid_of(token), context, owner);
  return names->member(rid_of(token), context, owner);
}

R2RSignatures::R2RSignatures(R2RImageBytes& image, const R2RHeader& header, MetadataNames* own,
                             AssemblyMetadata* assemblies)
    : image_(image), header_(header), own_(own), assemblies_(assemblies) {}

// The manifest metadata: references that the compiler added, and the components of a composite image.
const Metadata* R2RSignatures::manifest() {
  if (!manifest_read_) {
    if (const auto section = header_.find(R2RSection::manifest_metadata))
      manifest_.emplace(image_.range(section->rva, section->size));
    manifest_read_ = true;
  }
  return manifest_ ? &*manifest_ : nullptr;
}

std::string R2RSignatures::manifest_assembly(std::uint32_t rid) {
  const Metadata* metadata = manifest();
  if (metadata == nullptr) return {};
  return metadata->string(metadata->assembly_ref(rid).name);
}

MetadataNames* R2RSignatures::assembly(const std::string& simple_name) {
  if (own_ != nullptr && simple_name == own_->assembly_name()) return own_;
  return assemblies_ != nullptr && !simple_name.empty() ? assemblies_->by_simple_name(simple_name) : nullptr;
}

// An index counts the image's own references first, then those of the manifest metadata. From format 6.3 on,
// one index between the two stands for the manifest metadata itself. Composite images have only the
// manifest's references.
std::string R2RSignatures::assembly_of_index(std::uint32_t index) {
  const std::uint32_t references = own_ != nullptr ? own_->metadata().rows(MetadataTable::assembly_ref) : 0;
  if (index <= references) return own_->metadata().string(own_->metadata().assembly_ref(index).name);
  index -= references;
  const bool manifest_has_index = header_.major > 6 || (header_.major == 6 && header_.minor >= 3);
  if (manifest_has_index && index == 1) return {};
  return manifest_assembly(manifest_has_index ? index - 1 : index);
}

MetadataNames* R2RSignatures::module(std::uint32_t index) {
  if (index == 0) return own_;
  const auto known = modules_.find(index);
  if (known != modules_.end()) return known->second;
  MetadataNames* found = assembly(assembly_of_index(index));
  modules_.emplace(index, found);
  return found;
}

R2RMethodReference R2RSignatures::method(SignatureReader& reader, MetadataNames* in) {
  struct Parts {
    R2RSignatures& signatures;
    SignatureReader& signature;
    R2RMethodReference& result;
    MetadataNames* types; // of the module that holds the types of the signature
    SignatureBudget budget{};

    void module(std::uint32_t index) { types = result.names = signatures.module(index); }
    void owner_type() {
      // The method's token belongs to the module that defines the owner type.
      constexpr std::uint8_t generic_instance = 0x15, other_module = 0x3f;
      SignatureReader ahead = signature;
      if (ahead.peek() == generic_instance) ahead.u8();
      if (ahead.u8() == other_module) result.names = signatures.module(ahead.compressed_unsigned());
      result.owner = signatures.type(signature, types, &budget);
    }
    void token(MetadataTable table, std::uint32_t rid) { result.token = token_of(table, rid); }
    void method_argument() { result.method_arguments.push_back(signatures.type(signature, types, &budget)); }
    void constrained_type() { signatures.type(signature, types, &budget); }
  };
  R2RMethodReference result;
  result.names = in;
  read_method_encoding(reader, Parts{*this, reader, result, in});
  if (result.names == nullptr)
    throw Error(ErrorKind::memory_missing, "the metadata of the method's module is not available");
  return result;
}

TypeNamePtr R2RSignatures::type(SignatureReader& reader, MetadataNames* in, SignatureBudget* budget) {
  SignatureContext context;
  context.modules = this;
  context.budget = budget;
  return MetadataNames::read_type_in(in, reader, context);
}

void R2RSignatures::skip_method(SignatureReader& reader) {
  SkippingProvider provider;
  SignatureDecoder decoder(provider, reader, {.ready_to_run = true});
  struct Parts {
    SignatureDecoder<SkippingProvider>& types;
    void module(std::uint32_t) {}
    void owner_type() { types.type(); }
    void token(MetadataTable, std::uint32_t) {}
    void method_argument() { types.type(); }
    void constrained_type() { types.type(); }
  };
  read_method_encoding(reader, Parts{decoder});
}

} // namespace clr
