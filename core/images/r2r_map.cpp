#include "core/images/r2r_map.h"

#include "core/execution/gc_info.h"
#include "core/execution/hot_cold_map.h"
#include "core/execution/runtime_functions.h"
#include "core/isa/architecture.h"
#include "core/memory/count_text.h"
#include "core/memory/cpu_table.h"
#include "core/memory/loaded_file.h"
#include "core/memory/pe_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

// [rt] IMAGE_FILE_MACHINE_OS_MASK_*: images for systems other than Windows have a machine number of their
// own.
constexpr std::array<std::pair<std::uint16_t, PerfMapOs>, 6> system_marks{{{0, PerfMapOs::windows},
                                                                           {0x7b79, PerfMapOs::linux_},
                                                                           {0x4644, PerfMapOs::osx},
                                                                           {0xadc4, PerfMapOs::freebsd},
                                                                           {0x1993, PerfMapOs::netbsd},
                                                                           {0x1992, PerfMapOs::sunos}}};

// A RUNTIME_FUNCTION as the compiler writes it, which is how every runtime of the CPU reads it.
ContractDescriptor layout_of(Cpu cpu) {
  const bool has_end = architecture_of(cpu).unwind_data.entry_has_end;
  ContractDescriptor descriptor;
  TypeDescriptor& function = descriptor.types["RuntimeFunction"];
  function.size = has_end ? 12 : 8;
  function.fields["BeginAddress"].offset = 0;
  if (has_end) function.fields["EndAddress"].offset = 4;
  function.fields["UnwindData"].offset = has_end ? 8 : 4;
  return descriptor;
}

class Mapper {
public:
  Mapper(const PeImage& image, const ImageSystem& system, AssemblyMetadata* others)
      : image_(image), system_(system), others_(others),
        target_(image.memory(), layout_of(system.platform.cpu), system.platform), functions_(target_),
        bytes_(image.memory(), image.base()) {
    if (image.metadata().rva != 0) {
      metadata_.emplace(image.range_of(image.metadata()));
      names_ = std::make_unique<MetadataNames>(*metadata_);
    }
    methods_ = std::make_unique<R2RMethods>(bytes_, header_rva(), names_.get(), others);
  }

  R2RMethodMap run() {
    fill_header();
    const auto table = methods_->header().find(R2RSection::runtime_functions);
    if (!table) return std::move(map_);
    table_ = image_.base() + table->rva;
    count_ = static_cast<std::uint32_t>(table->size / functions_.stride());
    std::uint32_t cold_values = 0;
    Address cold_map = 0;
    if (const auto cold = methods_->header().find(R2RSection::hot_cold_map)) {
      cold_values = cold->size / 4;
      cold_map = image_.base() + cold->rva;
    }
    cold_parts_.emplace(target_, cold_map, cold_values, count_);
    for (const R2REntry& entry : methods_->entries()) add(entry);
    if (methods_->damaged() != 0)
      map_.problems.push_back(count_text(methods_->damaged(), "entry of its tables is damaged",
                                         "entries of its tables are damaged"));
    report(unnamed_, "method is named by its token", "methods are named by their token", why_unnamed_);
    report(unsized_, "method is left out: how long it is is not known",
           "methods are left out: how long they are is not known", why_unsized_);
    std::sort(map_.rows.begin(), map_.rows.end(),
              [](const symbols::MapRow& a, const symbols::MapRow& b) { return a.start < b.start; });
    return std::move(map_);
  }

private:
  std::uint32_t header_rva() const {
    if (image_.managed_native_header().rva != 0) return image_.managed_native_header().rva;
    if (const auto exported = image_.find_export("RTR_HEADER")) return *exported;
    throw Error(ErrorKind::corrupt, "it is no ReadyToRun image");
  }

  void fill_header() {
    R2rPerfMapHeader& header = map_.header;
    header.version = 1;
    header.os = system_.os;
    header.architecture = system_.architecture;
    header.abi = PerfMapAbi::default_;
    try {
      for (const PeDebugEntry& entry : image_.debug_entries())
        if (entry.type == R2rPerfMapId::debug_type) {
          const BlobBytes payload(image_.range_of(entry.data));
          header.signature = parse_r2r_perf_map_id(payload.span()).signature;
          return;
        }
      header.signature = compute_r2r_signature(inputs(), static_cast<std::uint32_t>(system_.os),
                                               static_cast<std::uint32_t>(system_.architecture),
                                               static_cast<std::uint32_t>(PerfMapAbi::default_));
    } catch (const Error& error) {
      map_.problems.push_back(fmt::format("its signature is not known ({})", error.what()));
    }
  }

  // The assemblies that were compiled into the image.
  std::vector<R2rInputAssembly> inputs() {
    std::vector<R2rInputAssembly> inputs;
    if (!methods_->composite()) {
      if (names_ == nullptr) throw Error(ErrorKind::corrupt, "the image has no metadata");
      inputs.push_back({names_->assembly_name(), metadata_->mvid()});
    }
    for (const R2RComponent& component : methods_->components()) {
      MetadataNames* const names =
          others_ == nullptr ? nullptr : others_->by_simple_name(component.simple_name);
      if (names == nullptr)
        throw Error(ErrorKind::memory_missing,
                    fmt::format("the metadata of {} is not available", component.simple_name));
      inputs.push_back({component.simple_name, names->metadata().mvid()});
    }
    return inputs;
  }

  void add(const R2REntry& entry) {
    if (entry.function_index >= count_) return;
    try {
      const std::uint32_t begin = functions_.begin(table_, entry.function_index);
      std::uint64_t cold_size = 0, cold_begin = 0;
      if (const auto cold = cold_parts_->cold_range(entry.function_index)) {
        cold_begin = functions_.begin(table_, cold->first);
        cold_size = functions_.begin(table_, cold->last) +
                    functions_.length(table_, cold->last, image_.base()) - cold_begin;
      }
      const std::uint64_t length = code_length(entry.function_index);
      if (length <= cold_size) throw Error(ErrorKind::corrupt, "a cold part as large as its method");
      const std::string name = name_of(entry);
      map_.rows.push_back({begin, length - cold_size, name});
      if (cold_size != 0) map_.rows.push_back({cold_begin, cold_size, name});
    } catch (const Error& error) {
      ++unsized_;
      if (why_unsized_.empty()) why_unsized_ = error.what();
    }
  }

  std::uint64_t code_length(std::uint32_t index) const {
    const Address unwind = image_.base() + functions_.unwind_data(table_, index);
    return read_code_length(target_, unwind + functions_.unwind_data_size(unwind),
                            gc_info_version_of(methods_->header().major));
  }

  std::string name_of(const R2REntry& entry) {
    try {
      return format_r2r_map_name(methods_->name(entry));
    } catch (const Error& error) {
      ++unnamed_;
      if (why_unnamed_.empty()) why_unnamed_ = error.what();
      const std::string module = names_ ? names_->assembly_name() : std::string("?");
      return format_token_name(module, token_of(MetadataTable::method_def, entry.rid));
    }
  }

  void report(std::size_t count, std::string_view one, std::string_view many, const std::string& why) {
    if (count != 0) map_.problems.push_back(fmt::format("{} ({})", count_text(count, one, many), why));
  }

  const PeImage& image_;
  ImageSystem system_;
  AssemblyMetadata* others_;
  Target target_;
  RuntimeFunctions functions_;
  MappedR2RImage bytes_;
  std::optional<Metadata> metadata_;
  std::unique_ptr<MetadataNames> names_;
  std::unique_ptr<R2RMethods> methods_;
  Address table_ = 0;
  std::uint32_t count_ = 0;
  std::optional<HotColdMap> cold_parts_;
  std::size_t unnamed_ = 0, unsized_ = 0;
  std::string why_unnamed_, why_unsized_;
  R2RMethodMap map_;
};

} // namespace

std::optional<ImageSystem> system_of_image(std::uint16_t machine) {
  for (const auto& [mark, os] : system_marks) {
    const CpuRow& row = cpu_row(cpu_of_pe_machine(static_cast<std::uint16_t>(machine ^ mark)));
    if (row.cpu != Cpu::unknown)
      return ImageSystem{.platform = {.pointer_size = row.pointer_size,
                                      .cpu = row.cpu,
                                      .os = os == PerfMapOs::windows ? Os::windows : Os::unix_like},
                         .os = os,
                         .architecture = static_cast<PerfMapArchitecture>(row.perf_map_token)};
  }
  return std::nullopt;
}

R2RMethodMap map_methods(const PeImage& image, AssemblyMetadata* others) {
  const auto system = system_of_image(image.machine());
  if (!system)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("an image for the machine {:#x}", image.machine()));
  return Mapper(image, *system, others).run();
}

LaidOutImage::LaidOutImage(const std::string& path) {
  const LoadedFile file = LoadedFile::open(path);
  const auto layout = PeLayout::parse(file.bytes());
  if (!layout) throw Error(ErrorKind::corrupt, fmt::format("{} is no PE image", path));
  if (layout->image_size > max_size) throw Error(ErrorKind::corrupt, fmt::format("{} is too large", path));
  if (layout->image_size > max_growth * file.bytes().size() + max_padding)
    throw Error(ErrorKind::corrupt,
                fmt::format("{} claims an image of {} bytes, which its {} bytes cannot make", path,
                            layout->image_size, file.bytes().size()));
  bytes_.resize(layout->image_size);
  const auto copy = [&](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    if (from >= file.bytes().size() || to >= bytes_.size()) return;
    size = std::min({size, file.bytes().size() - from, bytes_.size() - to});
    std::copy_n(file.bytes().begin() + static_cast<std::ptrdiff_t>(from), size,
                bytes_.begin() + static_cast<std::ptrdiff_t>(to));
  };
  copy(0, 0, layout->header_size);
  for (const PeSection& section : layout->sections)
    copy(section.raw_offset, section.rva, std::min(section.raw_size, section.virtual_size));
  memory_ = std::make_unique<HostMemory>(bytes_);
  image_.emplace(*memory_, 0, true);
}

struct AssemblyFolders::Assembly {
  explicit Assembly(const std::string& path)
      : file(path), metadata(file.image().range_of(file.image().metadata())), names(metadata) {}
  LaidOutImage file;
  Metadata metadata;
  MetadataNames names;
};

AssemblyFolders::AssemblyFolders(std::vector<std::string> folders) : folders_(std::move(folders)) {}
AssemblyFolders::~AssemblyFolders() = default;

MetadataNames* AssemblyFolders::by_simple_name(const std::string& simple_name) {
  const auto [entry, is_new] = assemblies_.try_emplace(simple_name);
  // The name comes from the image, so it must not lead out of the folder.
  if (!is_new || simple_name.find('/') != std::string::npos)
    return entry->second ? &entry->second->names : nullptr;
  for (const std::string& folder : folders_) {
    try {
      entry->second = std::make_unique<Assembly>(fmt::format("{}/{}.dll", folder, simple_name));
      return &entry->second->names;
    } catch (const std::exception&) {
      // There is no such file, or it is no assembly.
    }
  }
  return nullptr;
}

} // namespace clr
