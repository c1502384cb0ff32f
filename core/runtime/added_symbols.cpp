#include "core/runtime/added_symbols.h"

#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/signature.h"
#include "core/runtime/r2r_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of("/\\") + 1));
}

// "app" of "app.ni.r2rmap", "app.dll", "libx.so.debug".
std::string stem(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

SymbolImage image_of(Runtime& runtime, const ModuleDescription& module) {
  SymbolImage image{.name = module.name, .base = module.base, .identities = {}};
  const PeImage pe(runtime.target()->memory(), module.base, true);
  const auto system = system_of_image(pe.machine());
  for (const PeDebugEntry& entry : pe.debug_entries())
    if (entry.type == R2rPerfMapId::debug_type) {
      const BlobBytes payload(pe.range_of(entry.data));
      image.identities.push_back(digits_of(parse_r2r_perf_map_id(payload.span()).signature));
    }
  const Metadata metadata(pe.range_of(pe.metadata()));
  MetadataNames names(metadata);
  if (system)
    image.identities.push_back(digits_of(compute_r2r_signature(
        {{names.assembly_name(), metadata.mvid()}}, static_cast<std::uint32_t>(system->os),
        static_cast<std::uint32_t>(system->architecture), static_cast<std::uint32_t>(PerfMapAbi::default_))));
  return image;
}

} // namespace

std::vector<SymbolImage> symbol_images(Runtime& runtime) {
  std::vector<SymbolImage> images;
  for (const LoadedModule& module : runtime.modules()) {
    SymbolImage image{.name = file_name(module.path), .base = module.base, .identities = {}};
    if (!module.build_id.empty()) image.identities.push_back(hexadecimal(module.build_id));
    images.push_back(std::move(image));
  }
  if (runtime.names() == nullptr) return images;
  try {
    for (const ModuleDescription& module : runtime.names()->modules()) {
      if (!module.r2r || module.base == 0) continue;
      try {
        images.push_back(image_of(runtime, module));
      } catch (const std::exception&) {
        images.push_back({module.name, module.base, {}});
      }
    }
  } catch (const std::exception&) {
    // No list of modules: the native ones are left.
  }
  return images;
}

AddedSymbols::AddedSymbols(const std::vector<AddedSymbolFile>& files,
                           const std::function<std::vector<SymbolImage>()>& images) {
  std::optional<std::vector<SymbolImage>> known;
  for (const AddedSymbolFile& file : files) {
    Source source{.file = file, .image = {}, .problem = {}};
    const SymbolTable& table = *file.symbols;
    if (table.space() == SymbolSpace::process || file.base) {
      source.base = file.base.value_or(0);
      sources_.push_back(std::move(source));
      continue;
    }
    if (!known) known = images();
    const std::string name = file_name(file.path);
    const auto by_name = std::ranges::find_if(*known, [&](const SymbolImage& image) {
      return !image.name.empty() && stem(image.name) == stem(name);
    });
    const auto by_identity = std::ranges::find_if(*known, [&](const SymbolImage& image) {
      return !table.identity().empty() &&
             std::ranges::find(image.identities, table.identity()) != image.identities.end();
    });
    const auto found = table.identity().empty() ? by_name : by_identity;
    if (found == known->end()) {
      source.problem = table.identity().empty() ? "it does not say which image it is of (--base tells)"
                       : by_name != known->end() && !by_name->identities.empty()
                           ? fmt::format("{} in the process is another build: {} against {} here",
                                         by_name->name, by_name->identities.front(), table.identity())
                           : fmt::format("its image ({}) is not in this process", table.identity());
    } else {
      source.image = found->name;
      source.base = found->base;
      // An executable that cannot be moved has the addresses of the process.
      if (file.kind == SymbolFileKind::elf && !table.empty()) {
        try {
          if (table[0].address >= found->base) source.base = 0;
        } catch (const Error& error) {
          source.problem = error.what();
        }
      }
    }
    sources_.push_back(std::move(source));
  }
}

std::optional<AddedName> AddedSymbols::find(Address address) const {
  for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) {
    if (!source->problem.empty() || address < source->base) continue;
    try {
      const auto symbol = source->file.symbols->find(address - source->base);
      if (!symbol) continue;
      return AddedName{.function = symbol->function,
                       .file = symbol->file,
                       .line = symbol->line,
                       .start = source->base + symbol->function_start,
                       .size = symbol->size,
                       .path = source->file.path};
    } catch (const Error&) {
      // The entry is damaged: another file may name the address.
    }
  }
  return std::nullopt;
}

} // namespace clr
