// clr perfmap: perf maps of a stopped process or a core, and of ReadyToRun images.
#include "core/images/r2r_map.h"
#include "core/memory/error.h"
#include "core/memory/output_file.h"
#include "core/memory/path_map.h"
#include "core/runtime/code_rows.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace clr::lldb_plugin {

namespace {

class PerfMap final : public CommandRun {
public:
  explicit PerfMap(CLI::App& app) {
    app.add_option("FILE", file_,
                   "The map to write; perf-PID.map or IMAGE.ni.r2rmap in this folder by default. "
                   "A file that is there is replaced.");
    auto* const r2r =
        app.add_option(
               "--r2r", image_,
               "Write the map of a ReadyToRun image instead: of a module of the process, or of a file.")
            ->type_name("MODULE");
    each_takes_one(app.add_option("--references", references_,
                                  "With --r2r: a folder of assemblies that the file refers to, besides its "
                                  "own."))
        ->type_name("DIR")
        ->needs(r2r);
  }

  void run(Invocation& invocation) override {
    if (image_.empty())
      of_process(invocation);
    else
      of_image(invocation);
  }

private:
  void of_process(Invocation& invocation) {
    Session& session = invocation.session();
    require_runtime(session.runtime());
    if (file_.empty()) file_ = fmt::format("perf-{}.map", session.target().GetProcess().GetProcessID());
    std::vector<symbols::MapRow> rows;
    const auto holes = for_each_code_row(session.runtime(), [&](const symbols::MapRow& row) {
      rows.push_back(row);
      return !invocation.out.interrupted();
    });
    if (invocation.out.interrupted())
      throw Error(ErrorKind::invalid_argument, "interrupted; nothing is written");
    std::ranges::sort(rows, {}, &symbols::MapRow::start);
    OutputFile out(file_, Readers::everyone);
    const std::size_t lines = write_perf_map([&](std::string_view text) { out.write(text); }, rows);
    out.commit();
    invocation.out.line("{}: {} lines", file_, lines);
    warn_of(invocation.out, holes);
  }

  void of_image(Invocation& invocation) {
    const std::string name(file_name_of(image_));
    R2RMethodMap map = std::filesystem::is_regular_file(image_) ? of_file() : of_module(invocation);
    if (file_.empty()) file_ = std::filesystem::path(name).stem().string() + ".ni.r2rmap";
    OutputFile out(file_, Readers::everyone);
    const std::size_t lines =
        write_r2r_perf_map([&](std::string_view text) { out.write(text); }, map.header, map.rows);
    out.commit();
    invocation.out.line("{}: {} methods of {}", file_, lines, name);
    for (const std::string& problem : map.problems) invocation.out.warning(problem);
  }

  R2RMethodMap of_file() const {
    const LaidOutImage image(image_);
    std::vector<std::string> folders{std::filesystem::path(image_).parent_path().string()};
    if (folders.front().empty()) folders.front() = ".";
    folders.insert(folders.end(), references_.begin(), references_.end());
    AssemblyFolders others(std::move(folders));
    return map_methods(image.image(), &others);
  }

  R2RMethodMap of_module(Invocation& invocation) const {
    Runtime& runtime = invocation.session().runtime();
    require_runtime(runtime);
    for (const ModuleDescription& module : runtime.names()->modules()) {
      if (module.name != image_) continue;
      if (!module.r2r || module.base == 0)
        throw Error(ErrorKind::invalid_argument, fmt::format("{} is no ReadyToRun image", image_));
      if (!references_.empty())
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("--references is for a file, and {} is a module of the process", image_));
      const PeImage image(runtime.target()->memory(), module.base, true);
      return map_methods(image, nullptr);
    }
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is neither a file nor a module of the process", image_));
  }

  std::string file_, image_;
  std::vector<std::string> references_;
};

} // namespace

CommandSpec perfmap_command() {
  return {"perfmap",
          nullptr,
          "Write the managed code of the process, or of a ReadyToRun image, as a perf map.",
          "clr perfmap perf.map",
          "writes every method with code, jitted and ReadyToRun.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<PerfMap>(app); }};
}

} // namespace clr::lldb_plugin
