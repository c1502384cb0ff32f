#include "core/memory/module_list.h"

#include "core/memory/elf_image.h"
#include "core/memory/host_file.h"
#include "core/memory/limited_reader.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fmt/format.h>
#include <map>
#include <set>

namespace clr {
namespace {

std::uint64_t read_word(MemoryReader& memory, Platform platform, Address at) {
  std::byte raw[8];
  const auto bytes = std::span(raw).first(platform.pointer_size);
  memory.read(platform.wrap(at), bytes);
  return platform.pointer_size == 8 ? load<std::uint64_t>(bytes, platform.byte_order)
                                    : load<std::uint32_t>(bytes, platform.byte_order);
}

// A path from the target; empty when it is missing or is no text, or when no file can have it.
std::string read_path(MemoryReader& memory, Address at) {
  std::string text(max_path_bytes + 1, '\0');
  text.resize(memory.read_some(at, std::as_writable_bytes(std::span(text))));
  const std::size_t end = text.find('\0');
  if (end == std::string::npos) return {};
  text.resize(end);
  text.shrink_to_fit();
  return is_possible_path(text) ? text : std::string();
}

bool is_dynamic_library_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
}

class Lister {
public:
  Lister(const ElfCore& core, MemoryReader& memory)
      : core_(core), memory_(memory), headers_(memory, ModuleList::max_header_bytes) {}

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
      list_.modules.push_back(std::move(module->second));
    }
    tell_without_header();
    if (headers_.is_used_up())
      list_.problems.push_back(fmt::format("the headers of the modules have more than {} bytes together: "
                                           "modules are missing, or parts of them",
                                           ModuleList::max_header_bytes));
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
    if (modules_.size() == ModuleList::max_modules || headers_.is_used_up()) return false;
    try {
      ElfImage image(headers_, base);
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
      const ElfImage image(headers_, base);
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
    for (const CoreSegment& segment : core_.segments()) {
      if (segment.file_size == 0 || !ElfImage::is_elf(memory_, segment.begin)) continue;
      if (scanned.size() == ModuleList::max_modules) {
        list_.problems.push_back(fmt::format(
            "only the first {} segments that begin like a module were looked at", scanned.size()));
        break;
      }
      scanned.insert(segment.begin);
    }

    const auto executable = find_executable(scanned);
    if (executable) {
      list_.found_by = "link map";
      for (LoadedModule& module : walk_link_map(memory_, *executable, list_.problems)) {
        if (module.base == *executable) module.path = executable_path();
        if (!add(module.base, module.path)) add_without_header(std::move(module));
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
        ElfImage image(headers_, base);
        // The loader fills in this entry only in the executable.
        if (image.dynamic().value(DT_DEBUG).value_or(0) != 0) return base;
      } catch (const Error&) {
      }
    }
    return std::nullopt;
  }

  // Adds a module of the link map whose header page is not in the core (qemu leaves out the mapping that
  // begins with it). It reaches to the next module, or to the end of the mappings that follow closely.
  void add_without_header(LoadedModule module) {
    if (modules_.contains(module.base) || modules_.size() == ModuleList::max_modules) return;
    const Address base = module.base;
    module.size = end_of_mappings(base) - base;
    modules_.emplace(base, std::move(module));
    without_header_.insert(base);
  }

  // The end of the segments from `begin` on that lie close behind each other; `begin` when none does.
  Address end_of_mappings(Address begin) {
    constexpr std::uint64_t max_gap = 1u << 20; // linkers leave smaller gaps between segments
    const auto& segments = core_.segments();
    const auto is_close = [&](Address end, const CoreSegment& next) {
      return next.begin <= end || next.begin - end <= max_gap;
    };
    if (run_ends_.empty()) {
      run_ends_.resize(segments.size());
      for (std::size_t i = segments.size(); i-- > 0;) {
        const Address end = segments[i].begin + segments[i].memory_size;
        run_ends_[i] = i + 1 < segments.size() && is_close(end, segments[i + 1]) ? run_ends_[i + 1] : end;
      }
    }
    const auto first = std::ranges::lower_bound(segments, begin, {}, &CoreSegment::begin);
    if (first == segments.end() || !is_close(begin, *first)) return begin;
    return run_ends_[static_cast<std::size_t>(first - segments.begin())];
  }

  void tell_without_header() {
    if (without_header_.empty()) return;
    const auto first = std::ranges::find(list_.modules, *without_header_.begin(), &LoadedModule::base);
    list_.problems.push_back(
        without_header_.size() == 1
            ? fmt::format("the ELF header of {} is not in the core", first->path)
            : fmt::format("the ELF headers of {} modules are not in the core, the first is that of {}",
                          without_header_.size(), first->path));
  }

  const ElfCore& core_;
  MemoryReader& memory_;
  LimitedReader headers_; // the same, for what is read of each module
  ModuleList list_;
  std::map<Address, LoadedModule> modules_;
  std::set<Address> without_header_;
  std::vector<Address> run_ends_; // by segment: where those that follow closely end; made when it is needed
};

} // namespace

std::vector<LoadedModule> walk_link_map(MemoryReader& memory, Address executable,
                                        std::vector<std::string>& problems) {
  std::vector<LoadedModule> modules;
  std::size_t without_name = 0;
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
    // struct r_debug: version, link map. struct link_map: bias, name, dynamic section, next, previous.
    Address map = read_word(memory, platform, *debug + word);
    std::set<Address> seen;
    std::size_t names = 0; // bytes
    while (map != 0) {
      if (!seen.insert(map).second || modules.size() == ModuleList::max_modules) {
        problems.push_back(fmt::format("the link map does not end; {} modules were read", modules.size()));
        break;
      }
      const Address bias = read_word(memory, platform, map);
      const Address name = read_word(memory, platform, map + word);
      // LLDB takes no link map of which the last word of an entry is not in a core that this walk recorded.
      std::array<std::byte, sizeof(std::uint64_t)> last;
      memory.read_some(platform.wrap(map + 4 * word), std::span(last).first(word));
      map = read_word(memory, platform, map + 3 * word);
      // The first one is the executable. When it is linked to a fixed address, its bias is not its base.
      const Address base = modules.empty() ? executable : bias;
      std::string path = read_path(memory, name);
      const bool fits = path.size() <= ModuleList::max_link_map_names - names;
      names += fits ? path.size() : 0;
      without_name += fits ? 0 : 1;
      modules.push_back({.path = fits ? std::move(path) : std::string(), .base = base});
    }
  } catch (const Error& error) {
    problems.push_back(fmt::format("the link map could not be read: {}", error.what()));
  }
  if (without_name != 0)
    problems.push_back(
        fmt::format("the names in the link map have more than {} bytes together: {} modules are "
                    "without",
                    ModuleList::max_link_map_names, without_name));
  return modules;
}

ModuleList list_modules(const ElfCore& core, MemoryReader& memory) {
  return Lister(core, memory).list();
}

} // namespace clr
