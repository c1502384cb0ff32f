#include "core/runtime/added_symbols.h"

#include "core/images/r2r_map.h"
#include "core/memory/count_text.h"
#include "core/memory/file_bytes.h"
#include "core/memory/path_map.h"
#include "core/memory/text_encoding.h"
#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/signature.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// "app" of "app.ni.r2rmap", "app.dll", "libx.so.debug".
std::string stem(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

SymbolImage image_of(Runtime& runtime, const ModuleDescription& module) {
  SymbolImage image{.name = module.name, .base = module.base};
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
    SymbolImage image{.name = std::string(file_name_of(module.path)), .base = module.base};
    if (!module.build_id.empty())
      image.identities.push_back(hex_digits(std::as_bytes(std::span(module.build_id))));
    images.push_back(std::move(image));
  }
  if (runtime.names() == nullptr) return images;
  try {
    for (const ModuleDescription& module : runtime.names()->modules()) {
      if (!module.r2r || module.base == 0) continue;
      try {
        images.push_back(image_of(runtime, module));
      } catch (const std::exception& error) {
        images.push_back({.name = module.name, .base = module.base, .problem = error.what()});
      }
    }
  } catch (const std::exception&) {
    // The list of modules is not available; the native images remain.
  }
  return images;
}

namespace {

void warn_of(std::vector<std::string>& warnings, const symbols::Malformed& malformed) {
  for (const MalformedClass& kind : malformed.classes())
    warnings.push_back(kind.count == 1
                           ? fmt::format("once, at {}: {}", kind.first, kind.what)
                           : fmt::format("{} times, first at {}: {}", kind.count, kind.first, kind.what));
}

void warn_of(std::vector<std::string>& warnings, const SymbolTableBuilder::Dropped& dropped) {
  const auto add = [&](std::size_t count, std::string_view why) {
    if (count != 0)
      warnings.push_back(fmt::format("{} left out: {}", count_text(count, "entry", "entries"), why));
  };
  add(dropped.empty, "of size 0");
  add(dropped.oversize, "larger than any code");
  add(dropped.nameless, "without a name");
  add(dropped.no_room, "more than a table can hold");
  add(dropped.covered, "others came later at their addresses");
}

AddedSymbolFile open_trace(const std::string& path, std::optional<std::uint64_t> process,
                           std::vector<std::string>& warnings,
                           const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  const NetTrace trace = NetTrace::open(path);
  TraceMethods methods = read_trace_methods(trace, progress);
  if (methods.trace.stopped) throw Error(ErrorKind::interrupted, fmt::format("{}: interrupted", path));
  const MethodStore* const store = methods.of_process(process);
  if (store == nullptr) {
    std::string ids;
    for (const auto& [id, of_process] : methods.processes)
      ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id);
    throw Error(ErrorKind::invalid_argument,
                methods.processes.empty() ? fmt::format("{} names no code", path)
                : process ? fmt::format("{} has no code of process {}: it is of {}", path, *process, ids)
                          : fmt::format("{} is of the processes {}; --process tells which", path, ids));
  }
  warn_of(warnings, methods.trace.malformed);
  warn_of(warnings, methods.malformed);
  if (methods.trace.dropped != 0)
    warnings.push_back(
        methods.trace.dropped == 1
            ? "1 event was lost when the trace was taken"
            : fmt::format("{} events were lost when the trace was taken", methods.trace.dropped));
  if (!methods.trace.complete) warnings.push_back("the trace was cut off");
  if (!methods.rundown_complete)
    warnings.push_back("the trace has no rundown: code that was there before it began has no names");
  const std::uint64_t id = process.value_or(methods.processes.begin()->first);
  SymbolTableBuilder builder(SymbolSpace::process, fmt::format("nettrace {}", path),
                             id == 0 ? "" : fmt::format("{}", id));
  for (const MethodBody* body : store->bodies_at(std::nullopt))
    builder.add(body->start, body->size, body->name);
  AddedSymbolFile file{.path = path, .kind = SymbolFileKind::nettrace, .trace = trace.info()};
  file.symbols = builder.build();
  for (auto& [of, known] : methods.processes)
    if (&known == store) file.store = std::make_shared<const MethodStore>(std::move(known));
  return file;
}

AddedName name_of(const AddedSymbolFile& file, const MethodBody& body) {
  return {
      .kind = file.kind, .function = body.name, .start = body.start, .size = body.size, .path = file.path};
}

} // namespace

AddedSymbolFile open_symbol_file(const std::string& path, std::optional<std::uint64_t> process,
                                 std::vector<std::string>& warnings,
                                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  constexpr std::uint64_t enough = 64; // bytes to recognise a trace by
  if (NetTrace::recognises(FileBytes(HostFile::open(path)).read(0, enough)))
    return open_trace(path, process, warnings, progress);
  LoadedSymbols loaded = load_symbols(path, [&] { return progress && !progress(0, 0); });
  if (!loaded.note.empty()) warnings.push_back(loaded.note);
  warn_of(warnings, loaded.malformed);
  warn_of(warnings, loaded.dropped);
  return {.path = path, .kind = loaded.kind, .symbols = std::move(loaded.symbols)};
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
    const std::string_view name = file_name_of(file.path);
    const auto by_name = std::ranges::find_if(*known, [&](const SymbolImage& image) {
      return !image.name.empty() && stem(image.name) == stem(name);
    });
    const auto by_identity = std::ranges::find_if(*known, [&](const SymbolImage& image) {
      return !table.identity().empty() &&
             std::ranges::find(image.identities, table.identity()) != image.identities.end();
    });
    const auto found = table.identity().empty() ? by_name : by_identity;
    if (found == known->end()) {
      source.problem =
          table.identity().empty() ? "it does not say which image it is of (--base tells)"
          : by_name != known->end() && !by_name->problem.empty()
              ? fmt::format("whether {} in the process is the image that it is of cannot be told: {}",
                            by_name->name, by_name->problem)
          : by_name != known->end() && !by_name->identities.empty()
              ? fmt::format("{} in the process is another build: {} against {} here", by_name->name,
                            by_name->identities.front(), table.identity())
              : fmt::format("its image ({}) is not in this process", table.identity());
    } else {
      source.image = found->name;
      source.base = found->base;
      // An executable with fixed addresses has the addresses of the process.
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
      return AddedName{.kind = source->file.kind,
                       .function = symbol->function,
                       .file = symbol->file,
                       .line = symbol->line,
                       .start = source->base + symbol->function_start,
                       .size = symbol->size,
                       .path = source->file.path};
    } catch (const Error&) {
      // The entry is damaged; another file may have a name for the address.
    }
  }
  return std::nullopt;
}

std::optional<AddedName> AddedSymbols::find_at(Address address, double seconds) const {
  for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) {
    const AddedSymbolFile& file = source->file;
    if (!file.store || file.trace.ticks_per_second == 0) continue;
    const double ticks = seconds * static_cast<double>(file.trace.ticks_per_second);
    constexpr double most = 9e18; // the largest number of ticks that fits
    if (!(ticks >= 0 && ticks < most)) continue;
    const MethodBody* const body =
        file.store->find(address, file.trace.start + static_cast<TraceTime>(ticks));
    if (body != nullptr && !body->name.empty()) return name_of(file, *body);
  }
  return std::nullopt;
}

} // namespace clr
