// clr settings: where the target's files lie on this host.
#include "core/memory/error.h"
#include "extension/command.h"

#include <fmt/format.h>

#include <vector>

namespace clr::lldb_plugin {

namespace {

class Settings final : public CommandRun {
public:
  explicit Settings(CLI::App& app) {
    sysroot_option_ =
        app.add_option("--sysroot", sysroot_, "look for the target's files below DIR")->type_name("DIR");
    app.add_option("--path-map", maps_, "take files below FROM from below TO")->type_name("FROM=TO");
    app.add_flag("--clear", clear_, "forget sysroot and path maps");
  }

  void run(Invocation& invocation) override {
    PathMap paths = invocation.sessions.paths();
    if (clear_) paths = {};
    if (sysroot_option_->count() > 0) paths.sysroot = sysroot_;
    for (const std::string& map : maps_) {
      const auto equals = map.find('=');
      if (equals == 0 || equals == std::string::npos)
        throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is not of the form FROM=TO", map));
      paths.prefixes.emplace_back(map.substr(0, equals), map.substr(equals + 1));
    }
    const bool changes = clear_ || sysroot_option_->count() > 0 || !maps_.empty();
    invocation.out.line("sysroot: {}", paths.sysroot.empty() ? "(none)" : printable(paths.sysroot));
    for (const auto& [from, to] : paths.prefixes)
      invocation.out.line("path map: {} -> {}", printable(from), printable(to));
    if (changes) invocation.sessions.set_paths(std::move(paths));
  }

private:
  std::string sysroot_;
  std::vector<std::string> maps_;
  bool clear_ = false;
  CLI::Option* sysroot_option_ = nullptr;
};

} // namespace

CommandSpec settings_command() {
  return {"settings", nullptr, "Show or set where files of the target lie on this host.",
          "[--sysroot DIR] [--path-map FROM=TO]... [--clear]",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Settings>(app); }};
}

} // namespace clr::lldb_plugin
