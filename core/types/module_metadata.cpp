#include "core/types/module_metadata.h"

#include "core/metadata/pe_image.h"

#include <fmt/format.h>

namespace clr {
namespace {

Metadata dynamic_metadata(const Target& target, Address blob) {
  const std::uint32_t size = target.read_u32(target.field_address(blob, "DynamicMetadata", "Size"));
  if (size > max_dynamic_metadata)
    throw_corrupt(blob, "metadata of a module made at run time beyond the limit");
  return Metadata(ByteRange(target.memory(), target.field_address(blob, "DynamicMetadata", "Data"), size));
}

Metadata image_metadata(const Target& target, const Module& module) {
  const ImageMapping mapping = image_mapping(target, module);
  if (mapping.base == 0)
    throw Error(ErrorKind::memory_missing, "the module has no image and no serialised metadata");
  const PeImage image = mapping.mapped ? PeImage(target.memory(), mapping.base, *mapping.mapped)
                                       : PeImage::detect(target.memory(), mapping.base);
  return Metadata(image.range_of(image.metadata()));
}

} // namespace

ModuleMetadata::ModuleMetadata(const Target& target, const Module& module, AssemblyFiles* files,
                               std::shared_ptr<NameRoom> room)
    : target_(&target), module_(&module), files_(files), room_(std::move(room)) {}

MetadataNames* ModuleMetadata::find() {
  if (!opened_) {
    open_memory();
    opened_ = true;
  }
  if (!file_ && !memory_ && !file_tried_) open_file();
  if (file_) return &file_->names;
  if (memory_) return &memory_->names;
  if (absence_.empty())
    absence_ = fmt::format("no metadata of {}: {}; {}", module_->display_name(), memory_fault_, file_fault_);
  return nullptr;
}

MetadataNames& ModuleMetadata::current() {
  if (MetadataNames* const names = find()) return *names;
  throw Error(ErrorKind::memory_missing, absence_);
}

const std::string* ModuleMetadata::absence() {
  return find() == nullptr ? &absence_ : nullptr;
}

void ModuleMetadata::open_memory() {
  try {
    memory_ = std::make_unique<Source>(module_->dynamic_metadata != 0
                                           ? dynamic_metadata(*target_, module_->dynamic_metadata)
                                           : image_metadata(*target_, *module_),
                                       room_);
    name_assembly(memory_->names);
    source_ = NameSource::memory;
  } catch (const Error& fault) {
    memory_fault_ = fault.what();
  }
}

// The runtime's own name of the assembly saves reading the Assembly row.
void ModuleMetadata::name_assembly(MetadataNames& names) const {
  if (!module_->simple_name.empty()) names.set_assembly_name(module_->simple_name);
}

bool ModuleMetadata::fall_back(const Error& why) {
  if (file_tried_) return false; // the file itself lacks something, or there is no file
  memory_fault_ = why.what();
  open_file();
  return file_ != nullptr;
}

void ModuleMetadata::open_file() {
  file_tried_ = true;
  if (module_->reflection_emit() || module_->dynamic_metadata != 0) {
    file_fault_ = "it was made at run time and has no file";
    return;
  }
  if (module_->path.empty() && module_->file_name.empty()) {
    file_fault_ = "it was loaded from memory and has no file";
    return;
  }
  const auto file = files_ == nullptr ? nullptr : files_->open(module_->path, module_->file_name);
  if (!file) {
    file_fault_ =
        fmt::format("{} is not on this host", module_->path.empty() ? module_->file_name : module_->path);
    return;
  }
  ByteRoom& room = files_->room();
  try {
    const PeImage image(*file, 0, false);
    const ByteRange metadata = image.range_of(image.metadata());
    if (!room.has(metadata.size())) {
      file_fault_ = fmt::format("the metadata of the files on this host has more than {} bytes", room.most());
      return;
    }
    // Kept only when the file is the right one: many others may be named.
    room.waste(metadata.size());
    std::vector<std::byte> bytes(static_cast<std::size_t>(metadata.size()));
    file->read(metadata.begin(), bytes);
    auto memory = std::make_unique<HostMemory>(bytes);
    auto source = std::make_unique<Source>(Metadata(ByteRange(*memory, 0, bytes.size())), room_);
    if (auto reason = mismatch(source->metadata)) {
      file_fault_ = std::move(*reason);
      return;
    }
    name_assembly(source->names);
    room.keep(bytes.size());
    file_bytes_ = std::move(bytes); // where they were
    file_memory_ = std::move(memory);
    file_ = std::move(source);
    source_ = NameSource::assembly;
  } catch (const Error& fault) {
    file_fault_ = fmt::format("the file on this host is damaged: {}", fault.what());
  }
}

// Why the file is not the module in the target; nothing when it is the same module, as far as that can be
// told.
std::optional<std::string> ModuleMetadata::mismatch(const Metadata& of_file) {
  const std::string mvid = to_string(of_file.mvid());
  if (memory_) {
    try {
      const std::string in_memory = to_string(memory_->metadata.mvid());
      if (in_memory == mvid) return std::nullopt;
      return fmt::format("the file on this host is another build (MVID {}, in memory {})", mvid, in_memory);
    } catch (const Error&) {
      // The page with the MVID is missing; compare the numbers that the runtime wrote into its own tables
      // instead.
    }
  }
  struct Count {
    std::string_view map;
    MetadataTable table;
  };
  constexpr Count counts[] = {{"TypeDefToMethodTableMap", MetadataTable::type_def},
                              {"MethodDefToDescMap", MetadataTable::method_def},
                              {"FieldDefToDescMap", MetadataTable::field}};
  for (const auto& [map, table] : counts) {
    const auto rows = rows_of_map(map);
    if (!rows)
      return "the file's identity cannot be checked: neither MVID nor the runtime's maps are in memory";
    if (*rows != of_file.rows(table))
      return fmt::format("the file on this host is another build ({} has {} rows, in the target {})", map,
                         of_file.rows(table), *rows);
  }
  reservation_ = fmt::format("metadata of {} is from the file on this host; its MVID is not in the target's "
                             "memory, the numbers of types, methods and fields agree",
                             module_->display_name());
  return std::nullopt;
}

// Rows of the metadata table that a ModuleLookupMap was made for. The runtime allocates one slot more than
// there are rows.
std::optional<std::uint32_t> ModuleMetadata::rows_of_map(std::string_view field) const {
  try {
    if (!target_->find_offset("ModuleLookupMap", "Count")) return std::nullopt;
    const Address map = target_->field_address(module_->address, "Module", field);
    const std::uint32_t slots = target_->read_u32(target_->field_address(map, "ModuleLookupMap", "Count"));
    if (slots == 0) return std::nullopt;
    return slots - 1;
  } catch (const Error&) {
    return std::nullopt;
  }
}

} // namespace clr
