// clr core: opens a core, also one that a system keeps compressed.
#include "core/memory/cpu_table.h"
#include "core/memory/elf_core.h"
#include "core/memory/error.h"
#include "core/report/packed_core.h"
#include "extension/commands/command.h"
#include "extension/lldb/lldb_error.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace clr::lldb_plugin {

namespace {

// "core.1234" of "core.1234.zst".
std::string without_ending(const std::string& path) {
  for (const std::string_view ending : {".gz", ".zst", ".lz4"})
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path + ".unpacked";
}

struct OpenedCore {
  lldb::SBTarget target;
  std::string note; // what LLDB had to be told; empty when nothing
};

// Nothing where LLDB refuses; then `why` is its reason.
std::optional<lldb::SBTarget> open_as(lldb::SBDebugger& debugger, const std::string& path,
                                      const std::string& executable, const char* triple, std::string& why) {
  lldb::SBError error;
  lldb::SBTarget target = debugger.CreateTarget(executable.c_str(), triple, nullptr, true, error);
  if (!target.IsValid()) {
    why = fmt::format("LLDB makes no target: {}", error_line(error));
    // A program that is not there is none of the core's faults.
    if (!executable.empty()) throw Error(ErrorKind::io, fmt::format("--exe {}: {}", executable, why));
    return std::nullopt;
  }
  const lldb::SBProcess process = target.LoadCore(path.c_str(), error);
  if (error.Success() && process.IsValid()) {
    debugger.SetSelectedTarget(target);
    return target;
  }
  why = error_line(error);
  debugger.DeleteTarget(target);
  return std::nullopt;
}

// The plain names of the CPU's targets in LLDB: none where they are only patterns.
std::vector<std::string> triples_of(Cpu cpu) {
  const std::span<const std::string_view> names = cpu_row(cpu).triples;
  if (names.empty() || names.front().ends_with('*')) return {};
  return {fmt::format("{}-unknown-linux-gnu", names.front()),
          fmt::format("{}-unknown-linux-musl", names.front())};
}

// A core that has lost its threads: LLDB opens it and shows nothing.
std::string without_threads(const std::string& path) {
  std::uint64_t cut = 0;
  try {
    cut = ElfCore::open(path)->cut_bytes();
  } catch (const Error&) {
    // The text below holds without the number.
  }
  return fmt::format(
      "the core has lost its threads{}: LLDB can show none. Without LLDB, {} tells their managed "
      "stacks as far as the runtime's own records lead",
      cut != 0 ? fmt::format(" ({} bytes are missing at its end, where gdb writes them)", cut) : "",
      fmt::format("lldb_clr.open_core(\"{}\") in Python", path));
}

// Opens the core in a new target, which is then the selected one; `executable` may be empty. LLDB before 22
// refuses a core that names no system (those of qemu: "Unsupported OS"): then it is told the system. Throws
// Error{io} with the reason and what can be done; no target is left behind then.
OpenedCore open_in_lldb(lldb::SBDebugger& debugger, const std::string& path, const std::string& executable) {
  std::string why;
  if (auto target = open_as(debugger, path, executable, nullptr, why))
    return {*target, target->GetProcess().GetNumThreads() == 0 ? without_threads(path) : std::string()};
  Cpu cpu = Cpu::unknown;
  try {
    cpu = ElfCore::open(path)->platform().cpu;
  } catch (const Error& error) {
    throw Error(ErrorKind::io, fmt::format("LLDB does not open {}: {} ({})", path, why, error.what()));
  }
  for (const std::string& triple : triples_of(cpu)) {
    std::string again;
    if (auto target = open_as(debugger, path, executable, triple.c_str(), again))
      return {*target, fmt::format("LLDB refused it ({}) until it was told that it is of {}", why, triple)};
  }
  throw Error(ErrorKind::io,
              fmt::format("LLDB does not open {}: {}; lldb_clr.open_core(\"{}\") in Python may, without LLDB",
                          path, why, path));
}

class OpenCore final : public CommandRun {
public:
  explicit OpenCore(CLI::App& app) {
    app.add_option("FILE", path_, "The core: as it is, or compressed by gzip, zstd or lz4.")->required();
    app.add_option("-e,--exe", executable_, "The program that the core is of.")->type_name("FILE");
    app.add_option(
           "-t,--to", unpacked_,
           "Where the unpacked core is written; else beside FILE, without its ending. It stays there. "
           "Nothing may be there yet.")
        ->type_name("FILE");
  }

  void run(Invocation& invocation) override {
    const Packing packing = packing_of(path_);
    if (packing == Packing::none && !unpacked_.empty())
      throw Error(ErrorKind::invalid_argument, "--to is for a compressed core, and FILE is not compressed");
    open(invocation, packing == Packing::none ? path_ : unpack(invocation.out, packing));
  }

private:
  std::string unpack(Output& out, Packing packing) const {
    const std::string to = unpacked_.empty() ? without_ending(path_) : unpacked_;
    struct ::stat found {};
    if (::lstat(to.c_str(), &found) == 0)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} exists already: open it, or name another place by --to", to));
    const auto stop = [&out](std::uint64_t done, std::uint64_t all) {
      out.progress("unpacked", done >> 20, all >> 20);
      return out.interrupted();
    };
    const UnpackedCore core = unpack_core(path_, to, {.stop = stop});
    out.line("{}: {} bytes, unpacked ({}) from {}; the file stays there", to, core.size, to_string(packing),
             path_);
    if (!core.cut.empty()) out.warning(fmt::format("the end of the core is missing: {}", core.cut));
    return to;
  }

  void open(Invocation& invocation, const std::string& core) const {
    OpenedCore opened = open_in_lldb(invocation.debugger, core, executable_);
    const char* const triple = opened.target.GetTriple();
    const std::string_view cpu = triple == nullptr ? "" : triple;
    invocation.out.line("Core file '{}' ({}) was loaded.", core, cpu.substr(0, cpu.find('-')));
    if (!opened.note.empty()) invocation.out.line("{}", opened.note);
  }

  std::string path_, executable_, unpacked_;
};

} // namespace

CommandSpec core_command() {
  return {"core",
          nullptr,
          "Open a core, also one that is compressed, as systemd-coredump keeps them, or that LLDB refuses by "
          "itself.",
          "clr core core.dotnet.zst",
          "unpacks it to core.dotnet and opens that.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<OpenCore>(app); }};
}

} // namespace clr::lldb_plugin
