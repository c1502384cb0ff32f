#include "core/stack/native_symbols.h"

#include "core/memory/byte_room.h"
#include "core/memory/elf_file.h"
#include "core/memory/text_encoding.h"
#include "core/stack/elf_symbols.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace clr {
namespace {

// Longer names are shown as they are: the demangler's time grows with them.
constexpr std::size_t max_mangled = 8192;

std::string demangle(std::string_view name) {
  std::string text(name);
  if (!name.starts_with("_Z") || name.size() > max_mangled) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? std::string(plain.get()) : text;
}

// The folder where distributions install the symbols that they strip.
std::string debug_file(const std::vector<std::uint8_t>& build_id) {
  const std::string digits = hex_digits(std::as_bytes(std::span(build_id)));
  return fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", digits.substr(0, 2), digits.substr(2));
}

} // namespace

struct NativeSymbols::Impl {
  struct Module {
    LoadedModule loaded;
    bool opened = false;
    Address bias = 0;
    Address end = 0;
    std::vector<ElfSymbols> tables; // best first
  };

  MemoryReader* memory;
  PathMap paths;
  std::vector<Module> modules; // sorted by base
  ByteRoom room{max_kept_tables};

  void keep(Module& module, ElfSymbols table) {
    room.keep(std::min(table.size(), room.left()));
    module.tables.push_back(std::move(table));
  }

  void open(Module& module) {
    module.opened = true;
    module.end = module.loaded.base + module.loaded.size;
    std::vector<std::uint8_t> build_id = module.loaded.build_id;
    try {
      ElfImage image(*memory, module.loaded.base);
      module.bias = image.bias();
      if (module.loaded.size == 0) module.end = image.range().end();
      if (build_id.empty()) build_id = image.build_id();
      open_files(module, build_id);
      keep(module, ElfSymbols::of_memory(*memory, image, room.left()));
    } catch (const Error&) {
      // A module whose header or tables are missing has fewer names or none.
    }
  }

  void open_files(Module& module, const std::vector<std::uint8_t>& build_id) {
    if (build_id.empty()) return;
    std::vector<PathMap::Candidate> candidates = paths.candidates(module.loaded.path);
    candidates.insert(candidates.begin(),
                      {.path = debug_file(build_id), .by_user = true}); // a folder of this host
    for (const PathMap::Candidate& candidate : candidates) {
      try {
        const HostFile found = HostFile::open(candidate.path, candidate.named_by());
        const auto size = static_cast<std::uint64_t>(found.status().st_size);
        if (!room.has(size)) continue;
        room.waste(size);
        const ElfFile file(LoadedFile::read(found, candidate.named_by()));
        if (file.build_id() != build_id) continue;
        ElfSymbols table = ElfSymbols::of_file(file.bytes());
        if (table.empty()) continue;
        table.own_names();
        keep(module, std::move(table));
        return;
      } catch (const Error&) {
        // Not there, or not what its name says: the next one.
      }
    }
  }

  Module* module_at(Address address) {
    auto it = std::ranges::upper_bound(modules, address, {}, [](const Module& m) { return m.loaded.base; });
    while (it != modules.begin()) {
      Module& module = *--it;
      if (!module.opened && module.loaded.size == 0) open(module);
      const Address end = module.opened ? module.end : module.loaded.base + module.loaded.size;
      if (address < end) return &module;
    }
    return nullptr;
  }
};

NativeSymbols::NativeSymbols(MemoryReader& memory, std::vector<LoadedModule> modules, PathMap paths,
                             std::shared_ptr<ByteRoom> whole)
    : impl_(std::make_unique<Impl>()) {
  impl_->memory = &memory;
  impl_->paths = std::move(paths);
  impl_->room.share(std::move(whole));
  std::ranges::sort(modules, {}, &LoadedModule::base);
  for (LoadedModule& module : modules) {
    Impl::Module& added = impl_->modules.emplace_back();
    added.loaded = std::move(module);
  }
}

NativeSymbols::~NativeSymbols() = default;

std::optional<NativeSymbol> NativeSymbols::find(Address address) {
  Impl::Module* module = impl_->module_at(address);
  if (module == nullptr) return std::nullopt;
  if (!module->opened) impl_->open(*module);
  NativeSymbol result{std::string(file_name_of(module->loaded.path)), {}, address - module->loaded.base};
  for (const ElfSymbols& table : module->tables)
    if (const auto function = table.find(address - module->bias)) {
      result.name = demangle(function->name);
      result.offset = address - module->bias - function->address;
      break;
    }
  return result;
}

} // namespace clr
