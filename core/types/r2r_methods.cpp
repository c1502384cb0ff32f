#include "core/types/r2r_methods.h"

#include "core/metadata/native_format.h"
#include "core/metadata/signature.h"
#include "core/types/r2r_signatures.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint64_t component_size = 16;
// Sections up to this size are copied whole when their memory does not lend its bytes: one read instead of
// many small ones.
constexpr std::uint32_t max_copied_section = 64 * 1024 * 1024;
// Smallest size of a RUNTIME_FUNCTION (it is 12 on x64).
constexpr std::uint32_t least_function_size = 8;

// A section's bytes, copied when the image does not lend them.
class SectionBytes {
public:
  SectionBytes(R2RImageBytes& image, const R2RHeader::Section& section)
      : bytes_(image.range(section.rva, section.size)) {
    if (bytes_.is_lent() || section.size == 0 || section.size > max_copied_section) return;
    try {
      copy_ = bytes_.bytes(0, section.size);
      memory_.emplace(copy_, bytes_.begin());
      bytes_ = ByteRange(*memory_, bytes_.begin(), section.size);
    } catch (const Error& error) {
      // Some page is missing. The entries on the other pages are still useful, so each is read by itself.
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

// Calls `decode` with the bytes of an entry at `at`. Only decoding tells how long the entry is: where the
// memory does not lend the section, a larger piece is tried when a small one ends too early.
template<typename Decode>
auto with_entry(const ByteRange& section, std::uint64_t at, Decode&& decode) {
  const std::uint64_t rest = std::min<std::uint64_t>(section.size() - at, R2RMethods::max_entry_signature);
  constexpr std::uint64_t usual_size = 256;
  if (!section.is_lent() && rest > usual_size) {
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

} // namespace

struct R2RMethods::Impl {
  Impl(R2RImageBytes& bytes, const R2RHeader& of, MetadataNames* own_names, AssemblyMetadata* others)
      : image(bytes), header(of), own(own_names), signatures(bytes, of, own_names, others) {}

  MetadataNames* component(std::uint32_t index) {
    if (own != nullptr) return own;
    return signatures.assembly(index < component_names.size() ? component_names[index] : std::string());
  }

  // Valid until the next call. Callers ask for the name and then for the owner of the same entry, so the last
  // one is kept.
  const R2RMethodReference& read_instance(const R2REntry& entry) {
    if (last_rva == entry.instance_rva) return last_instance;
    const auto section = header.find(R2RSection::instance_entry_points);
    if (!section || entry.instance_rva < section->rva || entry.instance_rva - section->rva >= section->size)
      throw Error(ErrorKind::internal, "no instance entry of this image");
    last_rva = 0; // stays so if the reading below throws
    last_instance = with_entry(instance_section(*section), entry.instance_rva - section->rva,
                               [&](const BlobBytes& bytes) {
                                 SignatureReader reader(bytes.span());
                                 return signatures.method(reader, own);
                               });
    last_rva = entry.instance_rva;
    return last_instance;
  }

  const ByteRange& instance_section(const R2RHeader::Section& section) {
    if (!instances) instances = std::make_unique<SectionBytes>(image, section);
    return instances->bytes();
  }

  R2RImageBytes& image;
  const R2RHeader& header;
  MetadataNames* own;
  R2RSignatures signatures;
  std::vector<std::string> component_names;
  std::unique_ptr<SectionBytes> instances;
  std::uint32_t last_rva = 0; // of last_instance; 0: none
  R2RMethodReference last_instance;
};

R2RMethods::R2RMethods(R2RImageBytes& image, std::uint32_t header_rva, MetadataNames* own,
                       AssemblyMetadata* assemblies)
    : header_(read_r2r_header(image, header_rva)) {
  // The metadata of a composite image is the manifest, which defines no methods.
  impl_ = std::make_unique<Impl>(image, header_, composite() ? nullptr : own, assemblies);
  const auto table = header_.find(R2RSection::component_assemblies);
  if (!table) return;
  const std::uint64_t count = table->size / component_size;
  if (count > max_components) throw Error(ErrorKind::corrupt, "composite image of too many assemblies");
  const ByteRange bytes = image.range(table->rva, table->size);
  for (std::uint32_t i = 0; i < count; ++i) {
    R2RComponent component;
    component.header = read_r2r_core_header(image, bytes.u32(i * component_size + 8));
    // The manifest metadata lists the components first, in their order.
    try {
      component.simple_name = impl_->signatures.manifest_assembly(i + 1);
    } catch (const Error&) {
      component.simple_name.clear(); // only the methods of this component stay without names
    }
    impl_->component_names.push_back(component.simple_name);
    components_.push_back(std::move(component));
  }
}

R2RMethods::~R2RMethods() = default;

R2RSignatures& R2RMethods::signatures() {
  return impl_->signatures;
}

MetadataNames* R2RMethods::own_names() const {
  return impl_->own;
}

void R2RMethods::index_methods(const R2RHeader& of, std::uint32_t component, std::uint32_t functions) {
  const auto section = of.find(R2RSection::method_def_entry_points);
  if (!section) return;
  const SectionBytes bytes(impl_->image, *section);
  const NativeArray array(bytes.bytes());
  if (array.count() > max_methods - methods_) {
    ++damaged_;
    return;
  }
  methods_ += array.count();
  for (std::uint32_t i = 0; i < array.count(); ++i) {
    try {
      const auto at = array.find(i);
      if (!at) continue;
      R2REntry entry;
      entry.function_index = function_index(bytes.bytes(), *at);
      entry.component = component;
      entry.rid = i + 1;
      // No two methods begin at one function.
      if (entry.function_index < functions && entries_.size() < functions)
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
  // Each entry of a table takes at least two bytes: more entries than that mean that buckets overlap.
  const std::uint64_t most = std::min<std::uint64_t>(section->size / 2, max_methods);
  // Signatures that overlap take more bytes than the section has. Those that are copied count whole.
  std::uint64_t seen = 0;
  std::uint64_t left =
      std::uint64_t{section->size} * (bytes.is_lent() ? max_decoded_times : max_copied_times);
  const auto payload_of = [&](const BlobBytes& signature) -> std::uint64_t {
    SignatureReader reader(signature.span());
    const auto count = [&] {
      const std::uint64_t size = bytes.is_lent() ? reader.position() : signature.span().size();
      left -= std::min(left, size);
    };
    try {
      R2RSignatures::skip_method(reader);
    } catch (const Error&) {
      count();
      throw;
    }
    count();
    return reader.position();
  };
  const auto visit = [&](std::uint64_t at) {
    if (++seen > most || left == 0)
      throw Error(ErrorKind::corrupt, "instance table with overlapping buckets");
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
  for (std::uint32_t bucket = 0; bucket < table.bucket_count() && seen <= most && left != 0; ++bucket) {
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
  damaged_ = methods_ = 0;
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

MetadataNames& R2RMethods::names_of(const R2REntry& entry) {
  MetadataNames* const names = impl_->component(entry.component);
  if (names == nullptr)
    throw Error(ErrorKind::memory_missing, "the metadata of the method's module is not available");
  return *names;
}

QualifiedMethodName R2RMethods::name(const R2REntry& entry) {
  return entry.instance_rva == 0 ? names_of(entry).method(entry.rid) : impl_->read_instance(entry).name();
}

QualifiedMethodName R2RMethods::name_without_signature(const R2REntry& entry) {
  return entry.instance_rva == 0 ? names_of(entry).method_without_signature(entry.rid) : name(entry);
}

R2RMethods::Owner R2RMethods::owner(const R2REntry& entry) {
  if (entry.instance_rva == 0)
    return {impl_->component(entry.component), token_of(MetadataTable::method_def, entry.rid)};
  const R2RMethodReference& instance = impl_->read_instance(entry);
  return {instance.names, table_of(instance.token) == MetadataTable::method_def ? instance.token : 0};
}

} // namespace clr
