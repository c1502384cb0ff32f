// clr version: which plugin this is, and which LLDB it works in.
#include "core/report/json.h"
#include "extension/commands/command.h"
#include "extension/commands/own_version.h"
#include "extension/commands/parser.h"

#include "generated/clr_commit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <string>

namespace clr::lldb_plugin {

namespace {

// The file that this code was loaded from; empty when the loader does not know it.
std::string own_file() {
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(&version_command), &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "";
}

class Version final : public CommandRun {
public:
  explicit Version(CLI::App& app) { add_json(app, json_); }

  void run(Invocation& invocation) override {
    const char* const known = lldb::SBDebugger::GetVersionString();
    std::string lldb = known == nullptr ? "" : known;
    lldb.resize(std::min(lldb.find('\n'), lldb.size()));
    const std::string file = own_file();
    if (json_) {
      const auto text = [](const std::string& of) { return of.empty() ? Json() : Json(of); };
      invocation.out.line("{}", dump(Json{{"schema", json_schema},
                                          {"version", CLR_PROJECT_VERSION},
                                          {"commit", text(CLR_PROJECT_COMMIT)},
                                          {"file", text(file)},
                                          {"lldb", text(lldb)}}));
      return;
    }
    invocation.out.line("{}", own_version());
    if (!file.empty()) invocation.out.line("  loaded from {}", file);
    invocation.out.line("  in {}", lldb.empty() ? "an LLDB that does not tell its version" : lldb);
  }

private:
  bool json_ = false;
};

} // namespace

CommandSpec version_command() {
  return {"version",
          nullptr,
          "Show the version of this plugin, the file that it was loaded from, and the version of LLDB.",
          "clr version",
          "tells what to name in a report of a defect.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Version>(app); }};
}

} // namespace clr::lldb_plugin
