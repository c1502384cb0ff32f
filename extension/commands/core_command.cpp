// clr core: opens a core, also one that a system keeps compressed.
#include "core/memory/error.h"
#include "core/report/packed_core.h"
#include "extension/commands/command.h"
#include "extension/lldb/lldb_error.h"

#include <fmt/format.h>

#include <sys/stat.h>

namespace clr::lldb_plugin {

namespace {

// "core.1234" of "core.1234.zst".
std::string without_ending(const std::string& path) {
  for (const std::string_view ending : {".gz", ".zst", ".lz4"})
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path + ".unpacked";
}

class OpenCore final : public CommandRun {
public:
  explicit OpenCore(CLI::App& app) {
    app.add_option("FILE", path_, "The core: as it is, or compressed by gzip, zstd or lz4.")->required();
    app.add_option("-e,--exe", executable_, "The program that the core is of.");
    app.add_option(
        "-t,--to", unpacked_,
        "Where the unpacked core is written; else beside FILE, without its ending. It stays there. "
        "Nothing may be there yet.");
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
    lldb::SBError error;
    lldb::SBTarget target =
        invocation.debugger.CreateTarget(executable_.c_str(), nullptr, nullptr, true, error);
    if (!target.IsValid())
      throw Error(ErrorKind::io, fmt::format("LLDB makes no target: {}", error_line(error)));
    const lldb::SBProcess process = target.LoadCore(core.c_str(), error);
    if (error.Fail() || !process.IsValid()) {
      const std::string why = error_line(error);
      invocation.debugger.DeleteTarget(target);
      throw Error(ErrorKind::io, fmt::format("LLDB does not open {}: {}", core, why));
    }
    invocation.debugger.SetSelectedTarget(target);
    const char* const triple = target.GetTriple();
    const std::string_view cpu = triple == nullptr ? "" : triple;
    invocation.out.line("Core file '{}' ({}) was loaded.", core, cpu.substr(0, cpu.find('-')));
  }

  std::string path_, executable_, unpacked_;
};

} // namespace

CommandSpec core_command() {
  return {"core",
          nullptr,
          "Open a core, also one that is compressed, as systemd-coredump keeps them.",
          "clr core core.dotnet.zst",
          "unpacks it to core.dotnet and opens that.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<OpenCore>(app); }};
}

} // namespace clr::lldb_plugin
