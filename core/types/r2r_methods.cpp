#include "core/types/r2r_methods.h"

#include "core/metadata/native_format.h"
#include "core/metadata/signature.h"

#include <algorithm>

namespace clr {
namespace {

// Flags of a method's encoding, READYTORUN_METHOD_SIG_*.
constexpr std::uint32_t has_method_arguments = 0x04, slot_instead_of_token = 0x08, member_ref_token = 0x10,
                        has_constrained_type = 0x20, has_owner_type = 0x40, has_module = 0x80;

constexpr std::uint64_t section_size = 12, component_size = 16;
// A section that its memory does not lend is copied whole up to this size, so that its many small reads are
// one.
constexpr std::uint32_t max_copied_section = 64 * 1024 * 1024;
// A RUNTIME_FUNCTION is 8 bytes at least (12 on x64).
constexpr std::uint32_t least_function_size = 8;

std::vector<R2RHeader::Section> read_sections(const ByteRange& count_at, R2RImageBytes& image,
                                              std::uint32_t rva) {
  const std::uint32_t count = count_at.u32(0);
  if (count > R2RHeader::max_sections)
    throw_corrupt(count_at.begin(), "ReadyToRun header with too many sections");
  const ByteRange table = image.range(rva, static_cast<std::uint32_t>(count * section_size));
  std::vector<R2RHeader::Section> sections;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * section_size;
    sections.push_back({static_cast<R2RSection>(table.u32(at)), table.u32(at + 4), table.u32(at + 8)});
  }
  return sections;
}

// The core header of a component: flags, then the sections.
R2RHeader read_core_header(R2RImageBytes& image, std::uint32_t rva) {
  R2RHeader header;
  const ByteRange fixed = image.range(rva, 8);
  header.flags = fixed.u32(0);
  header.sections = read_sections(fixed.from(4), image, rva + 8);
  return header;
}

// A section's bytes, copied when the image does not lend them.
class SectionBytes {
public:
  SectionBytes(R2RImageBytes& image, const R2RHeader::Section& section)
      : bytes_(image.range(section.rva, section.size)) {
    if (!bytes_.lent().empty() || section.size == 0 || section.size > max_copied_section) return;
    try {
      copy_ = bytes_.bytes(0, section.size);
      memory_.emplace(copy_, bytes_.begin());
      bytes_ = ByteRange(*memory_, bytes_.begin(), section.size);
    } catch (const Error& error) {
      // Some page is missing: what the others hold is still worth having, entry by entry.
      if (error.kind() != ErrorKind::memory_missing) throw;
    }
  }
  SectionBytes(const SectionBytes&) = delete;
  SectionBytes& operator=(const SectionBytes&) = delete;

  const ByteRange& bytes() const { return bytes_; }

private:
  ByteRange bytes_;
  std::vector<std::byte> copy_;
  std::optional<HostMemory> memory_;
};

// Calls `decode` with the bytes of an entry at `at`. How long it is only its decoding tells: where the memory
// does not lend the section, a larger piece is tried when a small one ends too early.
template<typename Decode>
auto with_entry(const ByteRange& section, std::uint64_t at, Decode&& decode) {
  const std::uint64_t rest = std::min<std::uint64_t>(section.size() - at, R2RMethods::max_entry_signature);
  constexpr std::uint64_t usual_size = 256;
  if (section.lent().empty() && rest > usual_size) {
    try {
      return decode(BlobBytes(section.slice(at, usual_size)));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::corrupt) throw;
    }
  }
  return decode(BlobBytes(section.slice(at, rest)));
}

// The index of the runtime function at the front of an entry's payload. Fixups may follow.
std::uint32_t function_index(const ByteRange& bytes, std::uint64_t at) {
  const std::uint32_t id = decode_native_unsigned(bytes, at).value;
  return (id & 1) != 0 ? id >> 2 : id >> 1;
}

// What reads an instance entry only to find where it ends.
struct SkippingProvider {
  struct Type {};
  Type primitive(std::uint8_t) { return {}; }
  Type from_token(std::uint32_t, bool) { return {}; }
  Type instance(Type, std::vector<Type>) { return {}; }
  Type szarray(Type) { return {}; }
  Type array(Type, ArrayShape) { return {}; }
  Type pointer(Type) { return {}; }
  Type byref(Type) { return {}; }
  Type pinned(Type) { return {}; }
  Type function_pointer(MethodSignature<Type>) { return {}; }
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
  parts.token((flags & member_ref_token) != 0 ? Table::member_ref : Table::method_def,
              reader.compressed_unsigned());
  if ((flags & has_method_arguments) != 0) {
    const std::uint32_t count = reader.compressed_unsigned();
    if (count > reader.remaining()) reader.fail("signature shorter than its count");
    for (std::uint32_t i = 0; i < count; ++i) parts.method_argument();
  }
  if ((flags & has_constrained_type) != 0) parts.constrained_type();
}

} // namespace

std::optional<R2RHeader::Section> R2RHeader::find(R2RSection type) const {
  for (const Section& section : sections)
    if (section.type == type) return section;
  return std::nullopt;
}

R2RHeader read_r2r_header(R2RImageBytes& image, std::uint32_t rva) {
  R2RHeader header;
  const ByteRange fixed = image.range(rva, 16);
  if (fixed.u32(0) != R2RHeader::magic) throw_corrupt(fixed.begin(), "no ReadyToRun header");
  header.major = fixed.u16(4);
  header.minor = fixed.u16(6);
  header.flags = fixed.u32(8);
  header.sections = read_sections(fixed.from(12), image, rva + 16);
  return header;
}

struct R2RMethods::Impl final : SignatureModules {
  Impl(R2RImageBytes& bytes, MetadataNames* own_names, AssemblyMetadata* others)
      : image(bytes), own(own_names), assemblies(others) {}

  // The manifest metadata: references that the compiler added, and the components of a composite image.
  const Metadata* manifest() {
    if (!manifest_read) {
      if (const auto section = header->find(R2RSection::manifest_metadata))
        manifest_metadata.emplace(image.range(section->rva, section->size));
      manifest_read = true;
    }
    return manifest_metadata ? &*manifest_metadata : nullptr;
  }

  std::string manifest_assembly(std::uint32_t rid) {
    const Metadata* metadata = manifest();
    if (metadata == nullptr) return {};
    return metadata->string(metadata->assembly_ref(rid).name);
  }

  MetadataNames* by_name(const std::string& name) {
    if (own != nullptr && name == own->assembly_name()) return own;
    return assemblies != nullptr && !name.empty() ? assemblies->by_simple_name(name) : nullptr;
  }

  // Indexes count the image's own references first, then those of the manifest metadata; from format 6.3 on
  // one index between them stands for the manifest metadata itself. Composite images have only the latter.
  std::string assembly_of_index(std::uint32_t index) {
    const std::uint32_t references = own != nullptr ? own->metadata().rows(Table::assembly_ref) : 0;
    if (index <= references) return own->metadata().string(own->metadata().assembly_ref(index).name);
    index -= references;
    const bool manifest_has_index = header->major > 6 || (header->major == 6 && header->minor >= 3);
    if (manifest_has_index && index == 1) return {};
    return manifest_assembly(manifest_has_index ? index - 1 : index);
  }

  MetadataNames* module(std::uint32_t index) override {
    if (index == 0) return own;
    const auto known = modules.find(index);
    if (known != modules.end()) return known->second;
    MetadataNames* found = by_name(assembly_of_index(index));
    modules.emplace(index, found);
    return found;
  }

  MetadataNames* component(std::uint32_t index) {
    if (own != nullptr) return own;
    return by_name(index < component_names.size() ? component_names[index] : std::string());
  }

  // An instance entry, decoded.
  struct Instance {
    MetadataNames* names = nullptr; // of the module that `token` belongs to
    std::uint32_t token = 0;
    TypeNamePtr owner; // null: a generic method of a type that is not generic
    std::vector<TypeNamePtr> method_arguments;
  };
  Instance read_instance(const R2REntry& entry) {
    const auto section = header->find(R2RSection::instance_entry_points);
    if (!section || entry.instance_rva < section->rva || entry.instance_rva - section->rva >= section->size)
      throw Error(ErrorKind::invalid_argument, "no instance entry of this image");
    return with_entry(instance_section(*section), entry.instance_rva - section->rva,
                      [&](const BlobBytes& bytes) { return decode_instance(bytes.span()); });
  }

  const ByteRange& instance_section(const R2RHeader::Section& section) {
    if (!instances) instances = std::make_unique<SectionBytes>(image, section);
    return instances->bytes();
  }

  Instance decode_instance(std::span<const std::byte> bytes) {
    SignatureReader reader(bytes);
    struct Parts {
      Impl& impl;
      SignatureReader& signature;
      Instance& result;
      SignatureContext context;

      MetadataNames* types; // where the types of the signature are

      void module(std::uint32_t index) { types = result.names = impl.module(index); }
      void owner_type() {
        // The method's token belongs to the module that defines the owner.
        constexpr std::uint8_t generic_instance = 0x15, other_module = 0x3f;
        SignatureReader ahead = signature;
        if (ahead.peek() == generic_instance) ahead.u8();
        if (ahead.u8() == other_module) result.names = impl.module(ahead.compressed_unsigned());
        result.owner = MetadataNames::read_type_in(types, signature, context);
      }
      void token(Table table, std::uint32_t rid) { result.token = token_of(table, rid); }
      void method_argument() {
        result.method_arguments.push_back(MetadataNames::read_type_in(types, signature, context));
      }
      void constrained_type() { MetadataNames::read_type_in(types, signature, context); }
    };
    Instance result;
    result.names = own;
    SignatureContext context;
    context.modules = this;
    read_method_encoding(reader, Parts{*this, reader, result, context, own});
    if (result.names == nullptr)
      throw Error(ErrorKind::memory_missing, "the metadata of the method's module is not available");
    return result;
  }

  R2RImageBytes& image;
  MetadataNames* own;
  AssemblyMetadata* assemblies;
  const R2RHeader* header = nullptr;
  bool manifest_read = false;
  std::optional<Metadata> manifest_metadata;
  std::vector<std::string> component_names;
  std::unordered_map<std::uint32_t, MetadataNames*> modules; // by index of signatures
  std::unique_ptr<SectionBytes> instances;
};

R2RMethods::R2RMethods(R2RImageBytes& image, std::uint32_t header_rva, MetadataNames* own,
                       AssemblyMetadata* assemblies)
    : impl_(std::make_unique<Impl>(image, own, assemblies)), header_(read_r2r_header(image, header_rva)) {
  impl_->header = &header_;
  const auto table = header_.find(R2RSection::component_assemblies);
  if (!table) return;
  impl_->own = nullptr; // the metadata of a composite image is the manifest, which has no methods
  const std::uint64_t count = table->size / component_size;
  if (count > max_components) throw Error(ErrorKind::corrupt, "composite image of too many assemblies");
  const ByteRange bytes = image.range(table->rva, table->size);
  for (std::uint32_t i = 0; i < count; ++i) {
    R2RComponent component;
    component.header = read_core_header(image, bytes.u32(i * component_size + 8));
    // The manifest metadata lists the components first, in their order.
    try {
      component.simple_name = impl_->manifest_assembly(i + 1);
    } catch (const Error&) {
      component.simple_name.clear(); // its methods stay without names, the others' do not
    }
    impl_->component_names.push_back(component.simple_name);
    components_.push_back(std::move(component));
  }
}

R2RMethods::~R2RMethods() = default;

void R2RMethods::index_methods(const R2RHeader& of, std::uint32_t component, std::uint32_t functions) {
  const auto section = of.find(R2RSection::method_def_entry_points);
  if (!section) return;
  const SectionBytes bytes(impl_->image, *section);
  const NativeArray array(bytes.bytes());
  if (array.count() > Metadata::max_rows) throw Error(ErrorKind::corrupt, "too many methods in an image");
  for (std::uint32_t i = 0; i < array.count(); ++i) {
    try {
      const auto at = array.find(i);
      if (!at) continue;
      R2REntry entry;
      entry.function_index = function_index(bytes.bytes(), *at);
      entry.component = component;
      entry.rid = i + 1;
      if (entry.function_index < functions)
        entries_.push_back(entry);
      else
        ++damaged_;
    } catch (const Error&) {
      ++damaged_;
    }
  }
}

void R2RMethods::index_instances(std::uint32_t functions) {
  const auto section = header_.find(R2RSection::instance_entry_points);
  if (!section) return;
  const ByteRange& bytes = impl_->instance_section(*section);
  const NativeHashtable table(bytes);
  // Each entry of a table takes two bytes at least: more of them means that buckets overlap.
  const std::uint64_t most = section->size / 2;
  std::uint64_t seen = 0;
  const auto payload_of = [&](const BlobBytes& signature) -> std::uint64_t {
    SignatureReader reader(signature.span());
    SkippingProvider provider;
    SignatureDecoder decoder(provider, reader, {.ready_to_run = true});
    struct Parts {
      SignatureDecoder<SkippingProvider>& types;
      void module(std::uint32_t) {}
      void owner_type() { types.type(); }
      void token(Table, std::uint32_t) {}
      void method_argument() { types.type(); }
      void constrained_type() { types.type(); }
    };
    read_method_encoding(reader, Parts{decoder});
    return reader.position();
  };
  const auto visit = [&](std::uint64_t at) {
    if (++seen > most) throw Error(ErrorKind::corrupt, "instance table with overlapping buckets");
    try {
      R2REntry entry;
      entry.function_index = function_index(bytes, at + with_entry(bytes, at, payload_of));
      entry.instance_rva = static_cast<std::uint32_t>(section->rva + at);
      if (entry.function_index < functions)
        entries_.push_back(entry);
      else
        ++damaged_;
    } catch (const Error&) {
      ++damaged_;
    }
  };
  for (std::uint32_t bucket = 0; bucket < table.bucket_count() && seen <= most; ++bucket) {
    try {
      table.for_each_in_bucket(bucket, visit);
    } catch (const Error&) {
      ++damaged_;
    }
  }
}

const std::vector<R2REntry>& R2RMethods::entries() {
  if (indexed_) return entries_;
  entries_.clear();
  damaged_ = 0;
  const auto functions = header_.find(R2RSection::runtime_functions);
  const std::uint32_t count = functions ? functions->size / least_function_size : 0;
  if (composite()) {
    for (std::uint32_t i = 0; i < components_.size(); ++i) index_methods(components_[i].header, i, count);
  } else {
    index_methods(header_, 0, count);
  }
  index_instances(count);
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const R2REntry& a, const R2REntry& b) { return a.function_index < b.function_index; });
  const auto same = [](const R2REntry& a, const R2REntry& b) { return a.function_index == b.function_index; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  indexed_ = true;
  return entries_;
}

const R2REntry* R2RMethods::entry_of(std::uint32_t function_index) {
  const std::vector<R2REntry>& all = entries();
  const auto after = std::upper_bound(
      all.begin(), all.end(), function_index,
      [](std::uint32_t index, const R2REntry& entry) { return index < entry.function_index; });
  return after == all.begin() ? nullptr : &*(after - 1);
}

QualifiedMethodName R2RMethods::name(const R2REntry& entry) {
  if (entry.instance_rva == 0) {
    MetadataNames* names = impl_->component(entry.component);
    if (names == nullptr)
      throw Error(ErrorKind::memory_missing, "the metadata of the method's module is not available");
    return names->method(entry.rid);
  }
  const Impl::Instance instance = impl_->read_instance(entry);
  SignatureContext context;
  context.method_arguments = instance.method_arguments;
  if (instance.owner != nullptr && instance.owner->shape == TypeShape::instance)
    context.class_arguments = instance.owner->arguments;
  if (table_of(instance.token) == Table::method_def)
    return instance.names->method(rid_of(instance.token), context, instance.owner);
  return instance.names->member(rid_of(instance.token), context, instance.owner);
}

R2RMethods::Owner R2RMethods::owner(const R2REntry& entry) {
  if (entry.instance_rva == 0)
    return {impl_->component(entry.component), token_of(Table::method_def, entry.rid)};
  const Impl::Instance instance = impl_->read_instance(entry);
  return {instance.names, table_of(instance.token) == Table::method_def ? instance.token : 0};
}

} // namespace clr
