#include "core/memory/module_list.h"

#include "core/memory/elf_image.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <map>
#include <set>

namespace clr {
namespace {

constexpr std::size_t max_path = 4096;

std::uint64_t read_word(MemoryReader& memory, Platform platform, Address at) {
  std::byte raw[8];
  const auto bytes = std::span(raw).first(platform.pointer_size);
  memory.read(platform.wrap(at), bytes);
  return platform.pointer_size == 8 ? load<std::uint64_t>(bytes, platform.byte_order)
                                    : load<std::uint32_t>(bytes, platform.byte_order);
}

// A path from the target; empty when it is missing or is no text.
std::string read_path(MemoryReader& memory, Address at) {
  std::string text(max_path, '\0');
  text.resize(memory.read_some(at, std::as_writable_bytes(std::span(text))));
  const std::size_t end = text.find('\0');
  if (end == std::string::npos) return {};
  text.resize(end);
  return text;
}

bool is_dynamic_library_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
}

class Lister {
public:
  Lister(const ElfCore& core, MemoryReader& memory) : core_(core), memory_(memory) {}

  ModuleList list() {
    if (!core_.file_mappings().empty()) {
      list_.found_by = "NT_FILE";
      from_mappings();
    } else {
      from_loader();
    }
    if (const auto vdso = auxiliary(AT_SYSINFO_EHDR)) add(*vdso, "[vdso]");
    for (auto module = modules_.begin(); module != modules_.end(); ++module) {
      const auto next = std::next(module);
      if (without_header_.contains(module->first) && next != modules_.end())
        module->second.size = std::min(module->second.size, next->first - module->first);
      list_.modules.push_back(module->second);
    }
    if (list_.modules.empty()) list_.problems.push_back("no native module was found in the core");
    return std::move(list_);
  }

private:
  std::optional<std::uint64_t> auxiliary(std::uint64_t key) const {
    const auto found = core_.notes().auxv.find(key);
    return found == core_.notes().auxv.end() ? std::nullopt : std::optional(found->second);
  }

  // Adds the module whose ELF header is at `base`; false when the header cannot be read or is no ELF header.
  bool add(Address base, std::string path) {
    if (modules_.contains(base)) return true;
    if (modules_.size() == ModuleList::max_modules) return false;
    try {
      ElfImage image(memory_, base);
      LoadedModule module{.path = std::move(path), .base = base, .size = image.range().size};
      try {
        module.build_id = image.build_id();
        if (module.path.empty()) module.path = image.dynamic().soname();
      } catch (const Error&) {
        // The header is there, so the module is added without a build id.
      }
      modules_.emplace(base, std::move(module));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void from_mappings() {
    std::map<std::string_view, std::vector<const FileMapping*>> by_path;
    for (const FileMapping& mapping : core_.file_mappings()) by_path[mapping.path].push_back(&mapping);
    // A core may say that one file is mapped a million times.
    std::size_t headers = 0;
    for (auto& [path, mappings] : by_path) {
      std::ranges::stable_sort(mappings, {}, &FileMapping::begin);
      for (std::size_t i = 0; i < mappings.size(); ++i)
        if (mappings[i]->file_offset == 0 && headers++ < ModuleList::max_modules) from_mapping(mappings, i);
    }
    if (headers > ModuleList::max_modules)
      list_.problems.push_back(fmt::format("only {} of {} mappings of the beginning of a file were looked at",
                                           ModuleList::max_modules, headers));
  }

  void from_mapping(const std::vector<const FileMapping*>& mappings, std::size_t first) {
    const FileMapping& header = *mappings[first];
    // If this is a module at all, it reaches up to the next mapping of the header.
    Address end = header.end;
    bool executable = false;
    for (std::size_t i = first; i < mappings.size(); ++i) {
      if (i != first && mappings[i]->file_offset == 0) break;
      end = mappings[i]->end;
      const CoreSegment* segment = core_.segment_at(mappings[i]->begin);
      executable = executable || (segment != nullptr && segment->executable);
    }
    const bool may_be_native =
        !header.path.ends_with(".dll") && (executable || is_dynamic_library_name(header.path));
    // A program maps hundreds of assemblies and data files, whose headers most cores leave out. Their files
    // are not opened only to see that they are something else.
    if (!may_be_native && core_.next_readable(header.begin) != header.begin) return;
    std::byte probe;
    if (memory_.read_some(header.begin, std::span(&probe, 1)) == 1) {
      if (ElfImage::is_elf(memory_, header.begin) && is_loaded(mappings, header.begin))
        add(header.begin, header.path);
    } else if (may_be_native) {
      modules_.emplace(header.begin,
                       LoadedModule{.path = header.path, .base = header.begin, .size = end - header.begin});
    }
  }

  // `mappings`: all of the file, by their addresses.
  // A program may also map a file only to read it (a profiler, a symbolizer). Then none of its segments
  // except the first is at the address that the program headers ask for. (A single segment may be elsewhere
  // in a loaded module too: text gets moved to huge pages.)
  bool is_loaded(const std::vector<const FileMapping*>& mappings, Address base) {
    try {
      const ElfImage image(memory_, base);
      std::size_t others = 0;
      for (const ElfSegment& segment : image.segments()) {
        const Address at = image.range_of(segment).begin;
        if (segment.type != PT_LOAD || segment.file_size == 0 || at == base) continue;
        ++others;
        const auto after = std::ranges::upper_bound(mappings, at, {}, &FileMapping::begin);
        if (after == mappings.begin()) continue;
        const FileMapping& mapping = **std::prev(after);
        if (at < mapping.end && mapping.file_offset + (at - mapping.begin) == segment.file_offset)
          return true;
      }
      return others == 0;
    } catch (const Error&) {
      return false;
    }
  }

  void from_loader() {
    std::set<Address> scanned;
    for (const CoreSegment& segment : core_.segments())
      if (segment.file_size != 0 && ElfImage::is_elf(memory_, segment.begin)) scanned.insert(segment.begin);

    const auto executable = find_executable(scanned);
    if (executable) {
      list_.found_by = "link map";
      for (LoadedModule& module : walk_link_map(memory_, *executable, list_.problems)) {
        if (module.base == *executable) module.path = executable_path();
        if (!add(module.base, module.path)) add_without_header(module);
      }
      add(*executable, executable_path());
    } else {
      list_.found_by = "scan";
      list_.problems.push_back(
          "no list of mapped files, and no executable with a link map was found: modules have "
          "the names that they give themselves");
    }
    const auto vdso = auxiliary(AT_SYSINFO_EHDR);
    for (const Address base : scanned)
      if (base != vdso) add(base, {});
  }

  std::string executable_path() {
    const auto at = auxiliary(AT_EXECFN);
    std::string path = at ? read_path(memory_, *at) : std::string();
    return path.empty() ? core_.notes().name : path;
  }

  std::optional<Address> find_executable(const std::set<Address>& scanned) {
    if (const auto headers = auxiliary(AT_PHDR)) {
      // Program headers follow the ELF header in every executable that a linker made.
      const Address base =
          *headers - (core_.platform().pointer_size == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
      if (ElfImage::is_elf(memory_, base)) return base;
    }
    for (const Address base : scanned) {
      try {
        ElfImage image(memory_, base);
        // The loader fills in this entry only in the executable.
        if (image.dynamic().value(DT_DEBUG).value_or(0) != 0) return base;
      } catch (const Error&) {
      }
    }
    return std::nullopt;
  }

  // Adds a module of the link map whose header page is not in the core (qemu leaves out the mapping that
  // begins with it). It reaches to the next module, or to the end of the mappings that follow closely.
  void add_without_header(const LoadedModule& module) {
    if (modules_.contains(module.base) || modules_.size() == ModuleList::max_modules) return;
    constexpr std::uint64_t max_gap = 1u << 20; // linkers leave smaller gaps between segments
    Address end = module.base;
    const auto& segments = core_.segments();
    const auto first = std::ranges::lower_bound(segments, module.base, {}, &CoreSegment::begin);
    for (const CoreSegment& segment : std::ranges::subrange(first, segments.end())) {
      if (segment.begin > end && segment.begin - end > max_gap) break;
      end = segment.begin + segment.memory_size;
    }
    LoadedModule named = module;
    named.size = end - module.base;
    modules_.emplace(named.base, std::move(named));
    without_header_.insert(module.base);
    list_.problems.push_back(fmt::format("the ELF header of {} is not in the core", module.path));
  }

  const ElfCore& core_;
  MemoryReader& memory_;
  ModuleList list_;
  std::map<Address, LoadedModule> modules_;
  std::set<Address> without_header_;
};

} // namespace

std::vector<LoadedModule> walk_link_map(MemoryReader& memory, Address executable,
                                        std::vector<std::string>& problems) {
  std::vector<LoadedModule> modules;
  try {
    ElfImage image(memory, executable);
    const Platform platform = image.platform();
    const unsigned word = platform.pointer_size;
    const auto debug = image.dynamic().value(DT_DEBUG);
    if (!debug || *debug == 0) {
      problems.push_back(
          "the executable has no link map (it is linked statically, or its loader has not run)");
      return modules;
    }
    // struct r_debug: version, link map. struct link_map: bias, name, dynamic section, next.
    Address map = read_word(memory, platform, *debug + word);
    std::set<Address> seen;
    while (map != 0) {
      if (!seen.insert(map).second || modules.size() == ModuleList::max_modules) {
        problems.push_back(fmt::format("the link map does not end; {} modules were read", modules.size()));
        break;
      }
      const Address bias = read_word(memory, platform, map);
      const Address name = read_word(memory, platform, map + word);
      map = read_word(memory, platform, map + 3 * word);
      // The first one is the executable. When it is linked to a fixed address, its bias is not its base.
      const Address base = modules.empty() ? executable : bias;
      modules.push_back({.path = read_path(memory, name), .base = base});
    }
  } catch (const Error& error) {
    problems.push_back(fmt::format("the link map could not be read: {}", error.what()));
  }
  return modules;
}

ModuleList list_modules(const ElfCore& core, MemoryReader& memory) {
  return Lister(core, memory).list();
}

} // namespace clr
