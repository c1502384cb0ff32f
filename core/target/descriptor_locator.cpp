#include "core/target/descriptor_locator.h"

#include "core/memory/elf_image.h"
#include "core/memory/limited_reader.h"
#include "core/memory/path_map.h"
#include "core/memory/utf8.h"
#include "core/target/contracts.h"
#include "core/target/known_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace clr {
namespace {

constexpr std::string_view descriptor_symbol = "DotNetRuntimeContractDescriptor",
                           dac_table_symbol = "g_dacTable";
// A symbol that only an ahead-of-time compiled application exports.
constexpr std::string_view native_aot_symbol = "DotNetRuntimeDebugHeader";
constexpr std::array<std::string_view, 3> coreclr_names{"libcoreclr.so", "libcoreclr.dylib", "coreclr.dll"};
constexpr std::array<std::string_view, 2> mono_names{"libmonosgen-2.0.so", "libcoreclr_mono.so"};
// How much of a module is searched for the version text, and in what pieces.
constexpr std::uint64_t max_version_search = 64 * 1024 * 1024;
constexpr std::size_t version_search_piece = 64 * 1024;
constexpr std::size_t page = 4096;

template<std::size_t N>
bool is_named(const LoadedModule& module, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, file_name_of(module.path)) != names.end();
}

// Whether the runtime has set its application domain; it does so when it initialises. Nothing when the
// descriptor has no such global or the variable cannot be read.
std::optional<bool> has_started(MemoryReader& memory, const ContractDescriptor& descriptor) {
  const auto domain = descriptor.globals.find("AppDomain");
  if (domain == descriptor.globals.end() || !domain->second.number || *domain->second.number == 0)
    return std::nullopt;
  std::array<std::byte, 8> raw{};
  const auto word = std::span(raw).first(descriptor.platform.pointer_size);
  if (memory.read_some(*domain->second.number, word) < word.size()) return std::nullopt;
  return std::ranges::any_of(word, [](std::byte byte) { return byte != std::byte{0}; });
}

class Search {
public:
  Search(MemoryReader& memory, Cpu cpu, const DescriptorFile* file)
      : memory_(memory), tables_(memory, RuntimeSearch::max_searched_bytes), cpu_(cpu), file_(file) {}

  // Adds the runtime in `module`, if there is one. `expected`: the module should contain one.
  void probe(const LoadedModule& module, bool expected) {
    if (is_full() || tables_.is_used_up()) {
      ++not_searched_;
      return;
    }
    if (is_named(module, mono_names)) return add_other(module, RuntimeKind::mono);
    evidence_ = expected;
    try {
      if (look_into(module, expected)) return;
      if (expected)
        report(module, fmt::format("exports neither {} nor {}", descriptor_symbol, dac_table_symbol));
    } catch (const Error& error) {
      // Nothing was expected from other modules; their pages may well be missing.
      if (!evidence_) return;
      const bool asks =
          error.kind() == ErrorKind::unsupported_contract && versions_ < RuntimeSearch::max_versions;
      const std::string version = asks ? runtime_version(memory_, module) : std::string();
      versions_ += asks ? 1 : 0;
      report(module, version.empty() ? error.what() : fmt::format("version {}: {}", version, error.what()));
    }
  }

  // The module of the file's build has the file's descriptor. False when `module` is not it.
  bool take_file(const LoadedModule& module) {
    if (file_ == nullptr || !is_of_build(tables_, *file_, module)) return false;
    try {
      add({.module = module, .source = DescriptorSource::file},
          place_descriptor(memory_, *file_, module.base));
    } catch (const Error& error) {
      report(module, fmt::format("the descriptor in {}: {}", file_->path, error.what()));
      return false;
    }
    return true;
  }
  void tell_unused_file() {
    result.problems.push_back(fmt::format(
        "the descriptor in {} is not used: it is of another build than this process has", file_->path));
  }

  // What there was too much of.
  void tell_rest() {
    const auto tell = [&](std::size_t count, std::string_view what) {
      if (count != 0) result.problems.push_back(fmt::format("{} more {}", count, what));
    };
    tell(untold_, "modules or parts of them cannot be read");
    tell(left_out_, "runtimes are left out");
    tell(not_searched_, is_full()
                            ? "modules are not searched for a runtime: enough were found"
                            : "modules are not searched for a runtime: those before them have too large "
                              "headers and tables of symbols");
  }

  RuntimeSearch result;

private:
  // With CoreCLR among them, no other kind is of interest.
  bool is_full() const {
    return result.runtimes.size() == RuntimeSearch::max_runtimes &&
           std::ranges::find(result.runtimes, RuntimeKind::coreclr, &LocatedRuntime::kind) !=
               result.runtimes.end();
  }

  bool look_into(const LoadedModule& module, bool expected) {
    if (module.contract_descriptor) {
      try {
        add({.module = module}, read_contract_descriptor(memory_, *module.contract_descriptor, room_));
        return true;
      } catch (const Error& error) {
        // The symbols may come from the file of another build. The module's own symbols, in memory, are
        // reliable.
        report(module, error.what());
      }
    }
    if (!expected && !ElfImage::is_elf(tables_, module.base)) return false;
    ElfImage image(tables_, module.base);
    if (const auto symbol = image.find_symbol(descriptor_symbol);
        symbol && symbol->address != module.contract_descriptor) {
      evidence_ = true;
      add({.module = module, .source = DescriptorSource::memory_symbols},
          read_contract_descriptor(memory_, symbol->address, room_));
    } else if (const auto table = image.find_symbol(dac_table_symbol)) {
      evidence_ = true;
      add_by_table(module, *table, image.platform());
    } else if (image.find_symbol(native_aot_symbol)) {
      add_other(module, RuntimeKind::native_aot);
    } else {
      return module.contract_descriptor.has_value(); // its fault has been reported
    }
    return true;
  }

  void report(const LoadedModule& module, std::string_view what) {
    if (result.problems.size() >= RuntimeSearch::max_problems)
      ++untold_;
    else
      result.problems.push_back(fmt::format("{}: {}", file_name_of(module.path),
                                            cut_utf8(what, ContractDescriptor::max_problem_bytes)));
  }

  void keep(LocatedRuntime runtime) {
    if (result.runtimes.size() == RuntimeSearch::max_runtimes) {
      ++left_out_;
      if (runtime.kind != RuntimeKind::coreclr) return;
      result.runtimes.pop_back(); // there is no CoreCLR among them
    }
    result.runtimes.push_back(std::move(runtime));
  }

  void add_other(const LoadedModule& module, RuntimeKind kind, ContractDescriptor descriptor = {}) {
    keep({.kind = kind, .module = module, .descriptor = std::move(descriptor)});
  }

  void add(LocatedRuntime runtime, ContractDescriptor descriptor) {
    const LoadedModule& module = runtime.module;
    runtime.descriptor = std::move(descriptor);
    if (runtime.descriptor.platform.cpu == Cpu::unknown) runtime.descriptor.platform.cpu = cpu_;
    if (runtime.descriptor.platform.os == Os::unknown) runtime.descriptor.platform.os = Os::unix_like;
    if (describes_native_aot(runtime.descriptor))
      return add_other(module, RuntimeKind::native_aot, std::move(runtime.descriptor));
    check_descriptor_format(runtime.descriptor);
    for (const std::string& problem : runtime.descriptor.problems) report(module, problem);
    // Later descriptors that lack it lack it for good.
    if (runtime.descriptor.version == descriptor_format_integers &&
        !runtime.descriptor.contracts.contains("ExecutionManager")) {
      const auto table = ElfImage(tables_, module.base).find_symbol(dac_table_symbol);
      if (!table) return add_other(module, RuntimeKind::native_aot, std::move(runtime.descriptor));
      runtime.source = DescriptorSource::dac_table;
      return add_completed(std::move(runtime), *table);
    }
    add_coreclr(std::move(runtime));
  }

  void add_by_table(const LoadedModule& module, const ElfSymbol& table, Platform platform) {
    LocatedRuntime runtime{.module = module, .source = DescriptorSource::dac_table};
    runtime.descriptor.platform = platform;
    if (platform.cpu == Cpu::unknown) runtime.descriptor.platform.cpu = cpu_;
    runtime.descriptor.platform.os = Os::unix_like;
    add_completed(std::move(runtime), table);
  }

  // The runtime fills in the table when it initialises.
  void add_completed(LocatedRuntime runtime, const ElfSymbol& table) {
    if (complete_from_dac_table(tables_, {.address = table.address, .size = table.size}, runtime.descriptor))
      add_coreclr(std::move(runtime));
    else
      keep(std::move(runtime));
  }

  void add_coreclr(LocatedRuntime runtime) {
    const auto started = has_started(memory_, runtime.descriptor);
    if (!started) report(runtime.module, "whether the runtime has started cannot be told");
    runtime.started = started.value_or(true);
    keep(std::move(runtime));
  }

  MemoryReader& memory_;
  LimitedReader tables_; // the same, for what modules without a runtime may have, too
  DescriptorRoom room_;
  Cpu cpu_;
  const DescriptorFile* file_;
  std::size_t untold_ = 0, left_out_ = 0, not_searched_ = 0; // problems; runtimes; modules
  unsigned versions_ = 0;                                    // that were looked for
  bool evidence_ = false; // the module being probed has a runtime, whether or not it can be read
};

// "10.0.12" from a path such as ".../Microsoft.NETCore.App/10.0.12/libcoreclr.so".
std::string version_of_path(std::string_view path) {
  constexpr std::string_view framework = "Microsoft.NETCore.App/";
  const std::size_t at = path.find(framework);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = path.substr(at + framework.size());
  const std::string_view version = rest.substr(0, rest.find('/'));
  return version.empty() || std::isdigit(static_cast<unsigned char>(version[0])) == 0 ? std::string()
                                                                                      : std::string(version);
}

// The usual form of the file version "10.0.1226.42308": 10.0.12. Before the first servicing release, the
// third part only counts builds of the year.
std::string product_version(std::string_view file_version) {
  std::array<unsigned, 3> parts{};
  for (unsigned& part : parts) {
    const auto [end, error] =
        std::from_chars(file_version.data(), file_version.data() + file_version.size(), part);
    if (error != std::errc()) return {};
    file_version.remove_prefix(static_cast<std::size_t>(end - file_version.data()));
    if (file_version.starts_with('.')) file_version.remove_prefix(1);
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2] / 100);
}

} // namespace

std::string_view to_string(RuntimeKind kind) {
  switch (kind) {
  case RuntimeKind::coreclr:
    return "CoreCLR";
  case RuntimeKind::native_aot:
    return "NativeAOT";
  case RuntimeKind::mono:
    return "Mono";
  }
  return "CoreCLR";
}

std::string_view to_string(DescriptorSource source) {
  switch (source) {
  case DescriptorSource::module_symbols:
    return "the debugger's symbols";
  case DescriptorSource::memory_symbols:
    return "the module's dynamic symbols in memory";
  case DescriptorSource::file:
    return "a file in place of the runtime's own";
  case DescriptorSource::dac_table:
    return "g_dacTable and known layouts";
  }
  return "";
}

RuntimeSearch locate_runtimes(MemoryReader& memory, const std::vector<LoadedModule>& modules, Cpu cpu,
                              const DescriptorFile* file) {
  Search search(memory, cpu, file);
  const auto expected = [](const LoadedModule& module) {
    return module.contract_descriptor.has_value() || is_named(module, coreclr_names);
  };
  bool taken = false;
  for (const LoadedModule& module : modules) {
    taken = search.take_file(module);
    if (taken) break;
  }
  if (file != nullptr && !taken) search.tell_unused_file();
  for (const LoadedModule& module : modules)
    if (expected(module) && !taken) search.probe(module, true);
  // The executable of a single-file application contains the runtime. A library that was compiled ahead of
  // time may lie beside it.
  const auto is_coreclr = [](const LocatedRuntime& runtime) { return runtime.kind == RuntimeKind::coreclr; };
  if (std::ranges::none_of(search.result.runtimes, is_coreclr))
    for (const LoadedModule& module : modules)
      if (!expected(module)) search.probe(module, false);
  search.tell_rest();
  std::ranges::stable_sort(search.result.runtimes, {}, &LocatedRuntime::kind);
  return std::move(search.result);
}

std::string runtime_version(MemoryReader& memory, const LocatedRuntime& runtime) {
  if (const auto global = runtime.descriptor.globals.find("RuntimeProductVersionString");
      global != runtime.descriptor.globals.end() && global->second.text && !global->second.text->empty())
    return *global->second.text;
  return runtime_version(memory, runtime.module);
}

std::string runtime_version(MemoryReader& memory, const LoadedModule& module) {
  if (std::string version = version_of_path(module.path); !version.empty()) return version;
  constexpr std::string_view mark = "@(#)Version ";
  constexpr std::size_t longest = 64; // of mark and version together
  try {
    const MemoryRange range = ElfImage(memory, module.base).range();
    std::string piece(version_search_piece + longest, '\0');
    const Address end = std::min(range.end(), range.begin + max_version_search);
    for (Address at = range.begin; at < end;) {
      const std::size_t got = memory.scan_some(at, std::as_writable_bytes(std::span(piece)));
      const std::string_view text = std::string_view(piece).substr(0, got);
      if (const std::size_t found = text.find(mark); found != std::string_view::npos) {
        std::string version(std::min(longest, got - found), '\0');
        version.resize(memory.read_some(at + found, std::as_writable_bytes(std::span(version))));
        if (version =
                product_version(std::string_view(version).substr(std::min(mark.size(), version.size())));
            !version.empty())
          return version;
      }
      // After a hole, the search continues page by page, because a minimal core has few pages.
      at += got >= version_search_piece ? version_search_piece : (at + got) / page * page + page - at;
    }
  } catch (const Error&) {
    // The header of the module cannot be read, so its version stays unknown.
  }
  return {};
}

} // namespace clr
