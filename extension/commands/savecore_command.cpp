// clr savecore: a minimal core of a process or of a larger core.
#include "core/publish/code_catalog.h"
#include "core/report/save_core.h"
#include "extension/commands/command.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {

class SaveCore final : public CommandRun {
public:
  explicit SaveCore(CLI::App& app) {
    app.add_option("FILE", path_, "The core to write; a file that is there is replaced.")->required();
    app.add_flag("-a,--all-methods", all_methods_, "Keep what a list of all jitted methods needs, too.");
    app.add_flag(
        "--values", values_,
        "Keep the values of arguments and locals, too: the stacks, the objects that they hold, and what "
        "those refer to, to the third.");
    app.add_flag("--heap", heap_, "Keep the managed heap, too: about as many bytes as it holds.");
  }

  void run(Invocation& invocation) override {
    Output& out = invocation.out;
    const SavedCore written = save_core(invocation.session().save_source(), path_,
                                        {.all_methods = all_methods_,
                                         .heap = heap_,
                                         .values = values_,
                                         .describe = read_descriptions,
                                         .stop = [&out] { return out.interrupted(); },
                                         .made_by = fmt::format("lldb-clr {}", CLR_PROJECT_VERSION)});
    out.line("{}: {} bytes, {} of memory in {} segments", path_, written.file_size, written.memory_size,
             written.segments);
    if (!written.missing.empty())
      out.warning(
          fmt::format("{} runs of memory cannot be read and are missing in it", written.missing.size()));
    for (const std::string& sentence : written.left_out) out.warning(sentence);
  }

private:
  std::string path_;
  bool all_methods_ = false, values_ = false, heap_ = false;
};

} // namespace

CommandSpec savecore_command() {
  return {"savecore",
          nullptr,
          "Write a minimal core of this process or core: what stacks, threads, exceptions and methods need.",
          "clr savecore small.core",
          "writes some MB that show the same stacks on any machine.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<SaveCore>(app); }};
}

} // namespace clr::lldb_plugin
