// clr settings: where the target's files and their symbols lie on this host.
#include "core/memory/error.h"
#include "extension/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {

class Settings final : public CommandRun {
public:
  explicit Settings(CLI::App& app) {
    sysroot_option_ =
        app.add_option("--sysroot", sysroot_, "look for the target's files below DIR")->type_name("DIR");
    app.add_option("--path-map", maps_, "take files below FROM from below TO")->type_name("FROM=TO");
    app.add_option("--symbols", symbols_, "look for PDBs in PATH: a folder, a symbol cache or a PDB")
        ->type_name("PATH");
    publish_option_ = app.add_option("--publish", publish_,
                                     "what LLDB's own commands know of managed code, beside names and "
                                     "unwinding: lines, variables, r2r (ReadyToRun code), or none; several "
                                     "by commas")
                          ->delimiter(',')
                          ->check(CLI::IsMember({"lines", "variables", "r2r", "none"}))
                          ->type_name("WHAT");
    app.add_flag("--clear", clear_, "forget sysroot, path maps and symbol paths");
  }

  void run(Invocation& invocation) override {
    PdbSearch search = invocation.workspace().search();
    if (clear_) search = {};
    PathMap& paths = search.paths;
    if (sysroot_option_->count() > 0) paths.sysroot = sysroot_;
    for (const std::string& map : maps_) {
      const auto equals = map.find('=');
      if (equals == 0 || equals == std::string::npos)
        throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is not of the form FROM=TO", map));
      paths.prefixes.emplace_back(map.substr(0, equals), map.substr(equals + 1));
    }
    search.places.insert(search.places.end(), symbols_.begin(), symbols_.end());
    const bool changes = clear_ || sysroot_option_->count() > 0 || !maps_.empty() || !symbols_.empty();
    invocation.out.line("sysroot: {}", paths.sysroot.empty() ? "(none)" : printable(paths.sysroot));
    for (const auto& [from, to] : paths.prefixes)
      invocation.out.line("path map: {} -> {}", printable(from), printable(to));
    for (const std::string& place : search.places) invocation.out.line("symbols: {}", printable(place));
    if (changes) invocation.workspace().set_search(std::move(search));
    publish(invocation);
  }

private:
  void publish(Invocation& invocation) const {
    PublishSettings settings = invocation.workspace().publish_settings();
    if (publish_option_->count() > 0) {
      const auto wanted = [&](const char* what) {
        return std::ranges::find(publish_, what) != publish_.end();
      };
      settings.lines = wanted("lines");
      settings.variables = wanted("variables");
      settings.r2r = wanted("r2r");
      invocation.workspace().set(settings);
    }
    invocation.out.line("publish: names, unwinding{}{}{}{}", settings.lines ? ", lines" : "",
                        settings.variables ? ", variables" : "", settings.r2r ? ", r2r" : "",
                        settings.on ? "" : " (off: clr publish on)");
  }

  std::string sysroot_;
  std::vector<std::string> maps_, symbols_, publish_;
  bool clear_ = false;
  CLI::Option* publish_option_ = nullptr;
  CLI::Option* sysroot_option_ = nullptr;
};

} // namespace

CommandSpec settings_command() {
  return {"settings", nullptr, "Show or set where files of the target and their PDBs lie on this host.",
          "[--sysroot DIR] [--path-map FROM=TO]... [--symbols PATH]... [--publish WHAT] [--clear]",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Settings>(app); }};
}

} // namespace clr::lldb_plugin
