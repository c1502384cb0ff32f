// Metadata, signatures and ReadyToRun tables from arbitrary bytes. The form of an input: metadata_input.h.
#include "core/images/r2r_map.h"
#include "core/metadata/il_code.h"
#include "core/metadata/pe_image.h"
#include "core/types/metadata_names.h"
#include "core/types/r2r_imports.h"
#include "core/types/r2r_methods.h"
#include "core/types/user_method.h"
#include "core/waits/method_il.h"
#include "core/waits/state_machine_code.h"
#include "tests/fuzz/attempt.h"
#include "tests/fuzz/laid_out_image.h"
#include "tests/fuzz/metadata_input.h"

#include <algorithm>

using namespace clr;
using namespace clr::fuzz;

namespace {

constexpr std::uint32_t import_section_size = 20; // bytes
constexpr std::uint32_t most_rows =
    300; // of each table: what a longer run would find, a shorter finds sooner

// The types of a method's signature as those of ReadyToRun's encoding of a method, which are stepped over: a
// constrained type stands behind flags and token.
void skip_types(const Metadata& metadata, std::uint32_t method) {
  constexpr std::size_t most_bytes = 24;
  const BlobBytes signature(metadata.blob(metadata.method_def(method).signature));
  for (std::size_t at = 1; at < std::min(signature.span().size(), most_bytes); ++at) {
    std::vector<std::byte> encoded{std::byte{0x20}, std::byte{1}};
    encoded.insert(encoded.end(), signature.span().begin() + static_cast<std::ptrdiff_t>(at),
                   signature.span().end());
    SignatureReader reader(encoded);
    attempt([&] { R2RSignatures::skip_method(reader); });
  }
}

// The rows that types and their fields lead to.
void read_types(MetadataNames& names) {
  const Metadata& metadata = names.metadata();
  const auto each = [&](MetadataTable table, auto&& read) {
    const std::uint32_t rows = std::min(metadata.rows(table), most_rows);
    for (std::uint32_t rid = 1; rid <= rows; ++rid) attempt([&] { read(rid); });
  };
  each(MetadataTable::type_def, [&](std::uint32_t rid) {
    const std::uint32_t token = 0x0200'0000 | rid;
    format_type(*names.open_type_def(rid));
    format_sos_type(*names.type(token));
    metadata.encloser_of(rid);
    const auto [first, last] = metadata.generic_params(token);
    for (std::uint32_t param = first; param < std::min(last, first + 8); ++param)
      metadata.string(metadata.generic_param(param).name);
    const auto [begin, end] = metadata.custom_attributes(token);
    for (std::uint32_t attribute = begin; attribute < std::min(end, begin + 8); ++attribute)
      metadata.blob(metadata.custom_attribute(attribute).value);
    const auto [from, to] = metadata.field_range(rid);
    for (std::uint32_t at = from; at < std::min(to, from + most_rows); ++at) {
      const std::uint32_t field = metadata.field_at(at);
      metadata.string(metadata.field(field).name);
      if (const auto constant = metadata.constant_of_field(field)) metadata.blob(constant->value);
    }
  });
  each(MetadataTable::type_spec, [&](std::uint32_t rid) { format_type(*names.type(0x1b00'0000 | rid)); });
  each(MetadataTable::type_ref, [&](std::uint32_t rid) { format_type(*names.type_ref(rid)); });
  each(MetadataTable::exported_type,
       [&](std::uint32_t rid) { metadata.string(metadata.exported_type(rid).name); });
  each(MetadataTable::stand_alone_sig,
       [&](std::uint32_t rid) { metadata.blob(metadata.stand_alone_sig(rid)); });
  each(MetadataTable::method_spec, [&](std::uint32_t rid) { metadata.method_spec(rid); });
  each(MetadataTable::method_def, [&](std::uint32_t rid) { skip_types(metadata, rid); });
  each(MetadataTable::method_def, [&](std::uint32_t rid) {
    const auto [first, last] = metadata.param_range(rid);
    for (std::uint32_t at = first; at < std::min(last, first + 8); ++at)
      metadata.string(metadata.param(metadata.param_at(at)).name);
    attempt([&] {
      if (names.method_without_signature(rid).signature_known) __builtin_trap();
    });
    const QualifiedMethodName name = names.method(rid);
    format_r2r_map_name(name);
    event_fields(name);
    if (may_be_compiler_made(name)) find_user_method(names, rid, name);
  });
  each(MetadataTable::module_ref, [&](std::uint32_t rid) { metadata.string(metadata.module_ref_name(rid)); });
  attempt([&] { metadata.string(metadata.module_name()); });
  attempt([&] { metadata.table_bytes(MetadataTable::type_def); });
  attempt([&] { names.assembly_name(); });
  attempt([&] { metadata.mvid(); });
  attempt([&] { metadata.user_string(1); });
}

void name_methods(MetadataNames& names) {
  const std::uint32_t rows = std::min(names.metadata().rows(MetadataTable::method_def), most_rows);
  for (std::uint32_t rid = 1; rid <= rows; ++rid) try {
      const QualifiedMethodName name = names.method(rid);
      format_full_name(name);
      format_sos_name(name);
      format_event_name(name);
      format_perf_map_name(name);
      format_short_name(name);
    } catch (const Error&) {
    }
  const std::uint32_t members = std::min(names.metadata().rows(MetadataTable::member_ref), most_rows);
  for (std::uint32_t rid = 1; rid <= members; ++rid) try {
      format_full_name(names.member(rid));
    } catch (const Error&) {
    }
  read_types(names);
}

// The places where the methods of an image wait.
void read_il(const PeImage& image, const Metadata& metadata) {
  const std::uint32_t rows = std::min(metadata.rows(MetadataTable::method_def), most_rows);
  for (std::uint32_t rid = 1; rid <= rows; ++rid)
    attempt([&] {
      const std::vector<std::byte> il = il_code(image, metadata.method_def(rid).rva);
      for (const IlInstruction& instruction : il_instructions(il)) {
        pushed_constant(instruction);
        loaded_variable(instruction);
        stored_variable(instruction);
      }
      await_sites(metadata, il);
      await_calls(metadata, il);
    });
}

void read_root(MemoryReader& memory, std::size_t size) {
  const Metadata metadata(ByteRange(memory, 0, size));
  MetadataNames names(metadata);
  name_methods(names);
}

// What `clr perfmap` does with the file of an image.
void map_file(std::span<const std::byte> file) {
  const auto layout = PeLayout::parse(file);
  constexpr std::uint32_t largest = 1u << 20;
  if (!layout || layout->image_size > largest) return;
  const std::vector<std::byte> bytes = lay_out(*layout, file);
  HostMemory memory(bytes);
  const PeImage image = PeImage::detect(memory, 0);
  // The image itself stands for every other assembly.
  struct Itself final : AssemblyMetadata {
    explicit Itself(const PeImage& of) : metadata(of.range_of(of.metadata())), names(metadata) {}
    MetadataNames* by_simple_name(const std::string&) override { return &names; }
    Metadata metadata;
    MetadataNames names;
  };
  attempt([&] { map_methods(image, nullptr); });
  attempt([&] {
    Itself itself(image);
    map_methods(image, &itself);
  });
}

// The function of an entry belongs to that entry, or to another one of the same function.
void require_owner(R2RMethods& methods, const R2REntry& entry) {
  const R2REntry* owner = methods.entry_of(entry.function_index);
  if (owner == nullptr || owner->function_index != entry.function_index) __builtin_trap();
}

// Lends nothing, as memory of a live process.
class Borrowed final : public MemoryReader {
public:
  explicit Borrowed(MemoryReader& next) : next_(&next) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    return next_->read_some(address, out);
  }

private:
  MemoryReader* next_;
};

void read_image(MemoryReader& memory, bool mapped) {
  const PeImage pe(memory, 0, mapped);
  pe.debug_entries();
  const Metadata metadata(pe.range_of(pe.metadata()));
  MetadataNames names(metadata);
  name_methods(names);
  read_il(pe, metadata);
  struct Bytes final : R2RImageBytes {
    explicit Bytes(const PeImage& image) : pe(image) {}
    ByteRange range(std::uint32_t rva, std::uint32_t size) override { return pe.range_of({rva, size}); }
    const PeImage& pe;
  } bytes(pe);
  R2RMethods methods(bytes, pe.managed_native_header().rva, &names, nullptr);
  std::uint32_t left = most_rows;
  for (const R2REntry& entry : methods.entries()) {
    if (left-- == 0) break;
    attempt([&] { format_full_name(methods.name(entry)); });
    attempt([&] { methods.owner(entry); });
    require_owner(methods, entry);
  }
  attempt([&] {
    R2RImports imports(bytes, methods.header(), methods.signatures(), &names);
    const auto cells = methods.header().find(R2RSection::import_sections);
    for (std::uint32_t at = 0; cells && at < cells->size && at < 16 * import_section_size;
         at += import_section_size)
      attempt([&] {
        const std::uint32_t first = bytes.range(cells->rva + at, import_section_size).u32(0);
        for (std::uint32_t cell = 0; cell < 32; ++cell) attempt([&] { imports.at(first + 8 * cell, 8); });
      });
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = metadata_input(data, size);
  if (!input) return 0;
  HostMemory memory(input->bytes);
  if (input->image) {
    attempt([&] { map_file(input->bytes); });
    Borrowed borrowed(memory);
    MemoryReader& reader = input->lends ? static_cast<MemoryReader&>(memory) : borrowed;
    attempt([&] { read_image(reader, input->mapped); });
  } else {
    HostMemory held(std::span(input->bytes).first(input->held));
    attempt([&] { read_root(held, size); });
  }
  return 0;
}
