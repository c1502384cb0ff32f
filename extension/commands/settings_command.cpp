// clr settings: where the target's files and their symbols lie on this host, what stands in for the runtime's
// descriptor, what is published, the debug log.
#include "core/memory/error.h"
#include "extension/commands/command.h"
#include "extension/commands/own_version.h"
#include "extension/commands/parser.h"
#include "extension/door/log.h"
#include "extension/lldb/step_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace clr::lldb_plugin {

namespace {

class Settings final : public CommandRun {
public:
  explicit Settings(CLI::App& app) {
    sysroot_option_ =
        app.add_option("--sysroot", sysroot_, "Look for the target's files below DIR.")->type_name("DIR");
    each_takes_one(app.add_option("--path-map", maps_, "Take files below FROM from below TO instead."))
        ->type_name("FROM=TO");
    each_takes_one(
        app.add_option("--symbols", symbols_, "Look for PDBs in PATH: a folder, a symbol cache or a PDB."))
        ->type_name("PATH");
    app.add_flag("--clear", clear_, "Forget sysroot, path maps and symbol paths, before others are set.");
    app.add_option("--descriptor", descriptor_,
                   "Take the runtime's data descriptor from FILE, which clr info --save-descriptor wrote of "
                   "a runtime of the same build; none ends it.")
        ->type_name("FILE");
    publish_option_ =
        each_takes_one(
            app.add_option("--publish", publish_,
                           "Tell LLDB's own commands this of managed code, beside names and "
                           "unwinding: lines, variables, r2r (ReadyToRun code), several by commas, "
                           "or none."))
            ->delimiter(',')
            ->check(one_of({"lines", "variables", "r2r", "none"}))
            ->type_name("KINDS");
    app.add_option(
           "--publish-when", when_,
           "Tell LLDB of everything when a command needs it (asked), or at each stop (stop); auto, the "
           "default: stop for programs that call LLDB's API and once a script was run.")
        ->check(one_of({"auto", "asked", "stop"}))
        ->type_name("TIME");
    app.add_option("--step-over-properties", properties_,
                   "Whether step and clr step go over properties and operators (on) or into them (off, the "
                   "default): LLDB's target.process.thread.step-avoid-regexp.")
        ->check(one_of({"on", "off"}))
        ->type_name("on|off");
    app.add_option(
           "--async-frames", async_frames_,
           "Whether LLDB's own bt shows behind a stack the async methods that wait (on), in LLDB 22 and "
           "later; off is the default. They are no frames: they have no registers and no variables.")
        ->check(one_of({"on", "off"}))
        ->type_name("on|off");
    app.add_option("--log", log_, "Write a debug log to FILE, for a bug report; off ends it.")
        ->type_name("FILE");
    app.footer(
        "The debug log gets one line for each call of the plugin: the time in UTC, the thread, the way in "
        "(plugin, command, override, stop-hook, breakpoint, summary, c-interface), the names of the command "
        "and of "
        "its "
        "options, how long it took, kinds and addresses of faults, calls that found the plugin busy, how "
        "much "
        "was published; and the versions of LLDB and of the plugin, and the target's triple. It holds no "
        "values "
        "of options, no paths, no names and no strings of the target. FILE is a regular file: lines are "
        "appended, only its owner may read it, and it ends at 64 MiB.");
  }

  void run(Invocation& invocation) override {
    // First all that may be refused, so that nothing is changed then.
    std::shared_ptr<const DescriptorFile> taken;
    if (!descriptor_.empty() && descriptor_ != "none")
      taken = std::make_shared<const DescriptorFile>(read_descriptor_file(descriptor_));
    if (publish_.size() > 1 && std::ranges::find(publish_, "none") != publish_.end())
      throw Error(ErrorKind::invalid_argument, "--publish none goes with no other kind");
    PdbSearch search = invocation.workspace().search();
    if (clear_) search = {};
    PathMap& paths = search.paths;
    if (sysroot_option_->count() > 0) paths.sysroot = sysroot_;
    for (const std::string& map : maps_) {
      const auto equals = map.find('=');
      if (equals == 0 || equals == std::string::npos)
        throw Error(ErrorKind::invalid_argument, fmt::format("--path-map takes FROM=TO, not '{}'", map));
      paths.prefixes.emplace_back(map.substr(0, equals), map.substr(equals + 1));
    }
    search.places.insert(search.places.end(), symbols_.begin(), symbols_.end());
    if (async_frames_ == "on") Workspace::require_async_frames(invocation.debugger);
    if (!log_.empty()) set_log(invocation.debugger); // the last, because it takes effect
    warn_of_absent("--sysroot", sysroot_, invocation.out);
    for (const std::string& map : maps_)
      warn_of_absent("--path-map", map.substr(map.find('=') + 1), invocation.out);
    for (const std::string& place : symbols_) warn_of_absent("--symbols", place, invocation.out);
    if (!async_frames_.empty())
      invocation.workspace().set_async_frames(invocation.debugger, async_frames_ == "on");
    const bool changes = clear_ || sysroot_option_->count() > 0 || !maps_.empty() || !symbols_.empty();
    invocation.out.line("sysroot: {}", paths.sysroot.empty() ? "(none)" : paths.sysroot);
    for (const auto& [from, to] : paths.prefixes) invocation.out.line("path map: {} -> {}", from, to);
    for (const std::string& place : search.places) invocation.out.line("symbols: {}", place);
    if (changes) invocation.workspace().set_search(std::move(search));
    if (!descriptor_.empty()) invocation.workspace().set_descriptor(std::move(taken));
    if (const auto& file = invocation.workspace().descriptor())
      invocation.out.line("descriptor: {}", file->path);
    publish(invocation);
    if (!properties_.empty()) set_steps_over_properties(invocation.debugger, properties_ == "on");
    invocation.out.line("step over properties: {}",
                        steps_over_properties(invocation.debugger) ? "on" : "off");
    invocation.out.line("async frames: {}", invocation.workspace().async_frames() ? "on" : "off");
    const std::string log = debug_log().path();
    invocation.out.line("log: {}", log.empty() ? "off" : log);
  }

private:
  // It may come to be there later, so it is taken all the same. LLDB leaves ~ as it is.
  static void warn_of_absent(std::string_view option, const std::string& path, Output& out) {
    std::error_code unknown;
    if (!path.empty() && !std::filesystem::exists(path, unknown) && !unknown)
      out.warning(fmt::format("{}: there is no {}", option, path));
  }

  void set_log(lldb::SBDebugger& debugger) const {
    if (log_ == "off") return debug_log().close();
    debug_log().open(log_);
    const char* const lldb = lldb::SBDebugger::GetVersionString();
    debug_log().write(LogEntry::plugin,
                      fmt::format("{}, {}", own_version(), lldb == nullptr ? "LLDB ?" : lldb));
    for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
      lldb::SBTarget target = debugger.GetTargetAtIndex(i);
      const char* const triple = target.GetTriple();
      debug_log().write(LogEntry::plugin,
                        fmt::format("target {}: {}", i, triple == nullptr ? "no triple" : triple));
    }
  }

  void publish(Invocation& invocation) const {
    PublishSettings settings = invocation.workspace().publish_settings();
    if (publish_option_->count() > 0) {
      const auto wanted = [&](const char* what) {
        return std::ranges::find(publish_, what) != publish_.end();
      };
      settings.lines = wanted("lines");
      settings.variables = wanted("variables");
      settings.r2r = wanted("r2r");
    }
    for (const PublishTime time : {PublishTime::automatic, PublishTime::asked, PublishTime::stop})
      if (when_ == to_string(time)) settings.when = time;
    invocation.workspace().set(settings);
    invocation.out.line("publish: names, unwinding{}{}{}; when: {}{}", settings.lines ? ", lines" : "",
                        settings.variables ? ", variables" : "", settings.r2r ? ", r2r" : "",
                        to_string(settings.when), settings.on ? "" : " (off: clr publish on)");
  }

  std::string sysroot_, log_, when_, descriptor_, properties_, async_frames_;
  std::vector<std::string> maps_, symbols_, publish_;
  bool clear_ = false;
  CLI::Option* publish_option_ = nullptr;
  CLI::Option* sysroot_option_ = nullptr;
};

} // namespace

CommandSpec settings_command() {
  return {"settings",
          nullptr,
          "Show or set where files of the target and their PDBs lie on this host, what is published, and the "
          "log.",
          "clr settings --path-map /app=/home/me/build",
          "takes the target's files below /app from there.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Settings>(app); }};
}

} // namespace clr::lldb_plugin
