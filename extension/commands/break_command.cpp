// clr break: breakpoints on managed names and lines, compiled or not.
#include "core/describe/break_targets.h"
#include "core/describe/line_rows.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"
#include "extension/breakpoints/breakpoint_places.h"
#include "extension/commands/break_throws.h"
#include "extension/commands/break_where.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/hidden_breakpoints.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace clr::lldb_plugin {

namespace {

// Limit of the rows of one answer: a regular expression may cover every method.
constexpr std::size_t max_rows = 200;

struct CoveredBody {
  Address address = 0; // where the breakpoint is
  std::optional<MethodAnswer> answer;
  bool resolved = false;
  bool enabled = true;
};

std::vector<CoveredBody> bodies_of_breakpoint(Runtime& runtime, lldb::SBBreakpoint& breakpoint) {
  std::vector<CoveredBody> bodies;
  for (std::uint32_t i = 0; i < breakpoint.GetNumLocations() && i < max_rows; ++i) {
    lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(i);
    CoveredBody body{.address = location.GetLoadAddress(),
                     .answer = {},
                     .resolved = location.IsResolved(),
                     .enabled = location.IsEnabled()};
    runtime::Answer answer = runtime.resolve(body.address);
    if (auto* method = std::get_if<MethodAnswer>(&answer.result)) body.answer = std::move(*method);
    bodies.push_back(std::move(body));
  }
  return bodies;
}

bool is_compiled(const BreakTarget& target, const std::vector<CoveredBody>& bodies) {
  return std::ranges::any_of(bodies, [&](const CoveredBody& body) {
    return body.answer && body.answer->method.token == target.token &&
           body.answer->method.runtime_module == target.module_address;
  });
}

class Break final : public CommandRun {
public:
  explicit Break(CLI::App& app) {
    app.add_option(
        "WHERE", words_,
        "A method (Run, Type.Run, Ns.Type.Run; with its parameters, (int, string), for one overload), "
        "or FILE:LINE; with --exception a type, none: all.");
    app.add_flag("-e,--exception", exception_,
                 "Stop where an exception of the type WHERE, or of one that is derived from it, is thrown.");
    CLI::Option* const thrown = app.add_flag(
        "--thrown", thrown_, "With --exception: when it is thrown, caught or not. So it is without this.");
    app.add_flag("--unhandled", unhandled_,
                 "With --exception: when nobody catches it. That takes no breakpoint: the runtime ends the "
                 "process with SIGABRT.")
        ->excludes(thrown);
    app.add_flag("-o,--one-shot", one_shot_, "Delete the breakpoint when it is hit.");
    app.add_option("-c,--condition", condition_, "Stop only when this expression, of LLDB or of C#, is true.")
        ->type_name("EXPR");
    add_json(app, json_);
    app.require_subcommand(0, 1);
    list_ = app.add_subcommand("list", "List the breakpoints on managed code; so does `clr break` alone.");
    add_json(*list_, json_);
    delete_ = app.add_subcommand("delete", "Delete breakpoints.");
    delete_->add_option("N", ids_, "The number of a breakpoint, as `clr break list` shows it.")->required();
    app.footer(
        "As long as there is a breakpoint on managed code (one of b as well), the process stops for a "
        "moment when code is new that may be meant, so that the plugin sees it before it runs: .NET 10 "
        "tells of the methods by itself, and stops also when it loads an assembly or throws a C++ "
        "exception. Where it cannot (breakpoints by regular expression, more than 500 methods) each "
        "compilation stops. Jitted code that W^X keeps from breakpoints is made writable by a call of "
        "mprotect in the process; where that is not possible, start the program with "
        "DOTNET_EnableWriteXorExecute=0. A SIGSEGV or SIGFPE that the runtime turns into an exception (a "
        "null reference in managed code) is no stop. Every other one is; `process handle` decides.");
  }

  void run(Invocation& invocation) override {
    lldb::SBTarget target = invocation.debugger.GetSelectedTarget();
    if (!target.IsValid())
      throw Error(ErrorKind::invalid_argument, "there is no target; attach to a process or create one");
    if (list_->parsed() || delete_->parsed()) refuse_beside_action();
    if (delete_->parsed()) return remove(invocation, target);
    if ((thrown_ || unhandled_) && !exception_)
      throw Error(ErrorKind::invalid_argument, "--thrown and --unhandled go with --exception");
    if (unhandled_) return stop_at_unhandled(invocation, target, exceptions(joined(words_)));
    if (words_.empty()) {
      if (exception_) return break_at_throws(invocation, target, exceptions(""));
      if (one_shot_ || !condition_.empty())
        throw Error(ErrorKind::invalid_argument, "WHERE is missing: give a method or FILE:LINE");
      return list(invocation, target);
    }
    if (!invocation.workspace().publish_settings().on)
      throw Error(ErrorKind::invalid_argument,
                  "publishing is off: LLDB does not know managed code (clr publish on)");
    if (exception_) return break_at_throws(invocation, target, exceptions(joined(words_)));
    set(invocation, target, joined(words_));
  }

private:
  void refuse_beside_action() const {
    const char* const alone = list_->parsed() ? "clr break list" : "clr break delete N";
    if (!words_.empty())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("WHERE '{}' goes with no action; give `{}` alone", joined(words_), alone));
    if (exception_ || thrown_ || unhandled_ || one_shot_ || !condition_.empty() ||
        (json_ && delete_->parsed()))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("the options of a new breakpoint go with no action; give `{}` alone", alone));
  }

  ThrowOptions exceptions(std::string type) const {
    return {.type = std::move(type), .condition = condition_, .one_shot = one_shot_, .json = json_};
  }

  void set(Invocation& invocation, lldb::SBTarget& target, const std::string& where) {
    const auto place = file_and_line(where);
    lldb::SBProcess process = target.GetProcess();
    std::optional<BreakTargets> found;
    std::vector<std::string> names{where};
    if (process.IsValid() && process.GetState() == lldb::eStateStopped) {
      Runtime& runtime = invocation.session().runtime();
      if (runtime.absence() == nullptr) {
        invocation.process(target)->publishing().update();
        found = look(invocation.out, runtime, where, place);
        refuse_unknown(*found, where, place);
        if (!place) names = names_of(where, without_pdb(runtime, found->methods));
      }
    }
    BreakpointWish wish;
    if (place)
      wish = {BreakpointWish::Kind::line, {}, place->file, place->line};
    else
      wish = {BreakpointWish::Kind::name, {where}, {}, 0};
    invocation.process(target)->breakpoints().prepare_set(wish);
    lldb::SBBreakpoint breakpoint = create(target, where, place, names, modules_of(found));
    if (!breakpoint.IsValid())
      throw Error(ErrorKind::invalid_argument, "LLDB refuses to make this breakpoint");
    if (one_shot_) breakpoint.SetOneShot(true);
    if (!condition_.empty()) breakpoint.SetCondition(condition_.c_str());
    invocation.process(target)->breakpoints().add(breakpoint);
    if (found)
      report(invocation, breakpoint, *found, where);
    else
      report_waiting(invocation.out, target, breakpoint, where);
  }

  static std::vector<BreakTarget> without_pdb(Runtime& runtime, std::vector<BreakTarget> methods) {
    std::erase_if(methods,
                  [&](const BreakTarget& method) { return has_symbols(runtime, method.module_address); });
    return methods;
  }

  static BreakTargets look(Output& out, Runtime& runtime, const std::string& where,
                           const std::optional<FileLine>& place) {
    const auto stop = [&out] { return out.interrupted(); };
    return place ? methods_at_line(runtime, place->file, place->line, stop)
                 : methods_called(runtime, where, stop);
  }

  static void refuse_unknown(const BreakTargets& found, const std::string& where,
                             const std::optional<FileLine>& place) {
    if (!found.methods.empty()) return;
    std::string why;
    if (!place)
      why = fmt::format("no method called {} in the {} modules that are loaded", where, found.modules);
    else if (!found.file_known)
      why = fmt::format("no symbols of the {} modules that are loaded name {}", found.modules, place->file);
    else
      why = fmt::format("{} has no code at line {} or behind it", place->file, place->line);
    if (place && !found.silent.empty()) why += fmt::format("; {} have no PDB here", found.silent.size());
    throw Error(ErrorKind::invalid_argument,
                why + "; breakpoint set -n NAME or -f FILE -l LINE waits for what is loaded later");
  }

  // The modules that have such a method: native functions of the name are not meant. Empty: not known yet.
  static lldb::SBFileSpecList modules_of(const std::optional<BreakTargets>& found) {
    lldb::SBFileSpecList modules;
    if (!found) return modules;
    std::set<std::string> names;
    for (const BreakTarget& target : found->methods) names.insert(target.module);
    if (names.contains("")) return modules;
    for (const std::string& name : names) modules.Append(lldb::SBFileSpec(name.c_str(), false));
    return modules;
  }

  static lldb::SBBreakpoint create(lldb::SBTarget& target, const std::string& where,
                                   const std::optional<FileLine>& place,
                                   const std::vector<std::string>& names,
                                   const lldb::SBFileSpecList& modules) {
    if (place) return target.BreakpointCreateByLocation(place->file.c_str(), place->line);
    const lldb::SBFileSpecList any_unit;
    if (where.find('(') != std::string::npos)
      return target.BreakpointCreateByRegex(pattern_of(where).c_str(), modules, any_unit);
    std::vector<const char*> texts;
    for (const std::string& name : names) texts.push_back(name.c_str());
    return target.BreakpointCreateByNames(texts.data(), static_cast<std::uint32_t>(texts.size()),
                                          lldb::eFunctionNameTypeAuto, modules, any_unit);
  }

  void report(Invocation& invocation, lldb::SBBreakpoint& breakpoint, const BreakTargets& found,
              const std::string& where) const {
    Output& out = invocation.out;
    const std::vector<CoveredBody> bodies = bodies_of_breakpoint(invocation.session().runtime(), breakpoint);
    if (json_) {
      Json json{{"schema", json_schema}, {"breakpoint", breakpoint.GetID()}, {"where", where}};
      if (found.line != 0) json["line"] = found.line;
      json["methods"] = Json::array();
      for (const BreakTarget& target : found.methods)
        json["methods"].push_back(to_json(target, is_compiled(target, bodies)));
      json["locations"] = locations(bodies);
      out.line("{}", dump(json));
      return;
    }
    out.line("Breakpoint {}: {}", breakpoint.GetID(), where);
    for (const CoveredBody& body : bodies) out.line("  {}", text_of(body));
    if (breakpoint.GetNumLocations() > max_rows)
      out.line("  {} more places are not shown", breakpoint.GetNumLocations() - max_rows);
    lldb::SBProcess process = invocation.session().target().GetProcess();
    const char* const state = is_core(process) ? "not compiled" : "not compiled yet: will be set when it is";
    std::size_t rows = 0;
    for (const BreakTarget& target : found.methods) {
      if (is_compiled(target, bodies)) continue;
      if (++rows <= max_rows) out.line("  {}`{}: {}", target.module, target.name, state);
    }
    if (rows > max_rows) out.line("  {} more methods are {}", rows - max_rows, state);
  }

  void report_waiting(Output& out, lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint,
                      const std::string& where) const {
    if (json_) {
      out.line("{}", dump(Json{{"schema", json_schema},
                               {"breakpoint", breakpoint.GetID()},
                               {"where", where},
                               {"methods", Json::array()},
                               {"locations", Json::array()}}));
      return;
    }
    lldb::SBProcess process = target.GetProcess();
    out.line("Breakpoint {}: {}: {}", breakpoint.GetID(), where,
             is_core(process) ? "there is no runtime in this core"
             : process.IsValid() && process.GetState() == lldb::eStateRunning
                 ? "will be set when the process stops and its code is compiled"
                 : "there is no runtime yet; will be set when its code is compiled");
  }

  static Json to_json(const BreakTarget& target, bool compiled) {
    Json json{{"module", target.module}, {"token", hex(target.token)}, {"name", target.name}};
    if (!target.user_name.empty()) json["user_method"] = target.user_name;
    json["compiled"] = compiled;
    return json;
  }

  static Json locations(const std::vector<CoveredBody>& bodies) {
    Json list = Json::array();
    for (const CoveredBody& body : bodies) {
      Json row{{"address", hex(body.address)}, {"set", body.resolved && body.enabled}};
      if (body.answer) {
        row["method"] = clr::to_json(body.answer->method);
        row["code"] = clr::to_json(body.answer->code);
      }
      list.push_back(std::move(row));
    }
    return list;
  }

  static std::string text_of(const CoveredBody& body) {
    std::string text = fmt::format("{:#018x} ", body.address);
    text += body.answer ? fmt::format("{} [{}]", method_and_offset(body.answer->method, body.answer->code),
                                      describe_kind(body.answer->code))
                        : "no managed code";
    if (!body.enabled)
      text += ": not used, it is disabled or another line's";
    else if (!body.resolved)
      text += ": not set, LLDB cannot write there";
    return text;
  }

  void list(Invocation& invocation, lldb::SBTarget& target) const {
    Output& out = invocation.out;
    lldb::SBProcess process = target.GetProcess();
    const bool stopped = process.IsValid() && process.GetState() == lldb::eStateStopped;
    Json all = Json::array();
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < target.GetNumBreakpoints(); ++i) {
      lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
      if (is_hidden(breakpoint) || !invocation.process(target)->breakpoints().is_managed(breakpoint))
        continue;
      ++count;
      std::vector<CoveredBody> bodies;
      if (stopped) bodies = bodies_of_breakpoint(invocation.session().runtime(), breakpoint);
      if (json_) {
        all.push_back({{"breakpoint", breakpoint.GetID()},
                       {"enabled", breakpoint.IsEnabled()},
                       {"hits", breakpoint.GetHitCount()},
                       {"locations", locations(bodies)}});
        continue;
      }
      const std::string* const type = invocation.process(target)->breakpoints().throws().type_of(breakpoint);
      out.line("{}: {}{}, hit {} times", breakpoint.GetID(),
               type != nullptr ? throws_text(*type) : wish_text(breakpoint),
               breakpoint.IsEnabled() ? "" : ", disabled", breakpoint.GetHitCount());
      for (const CoveredBody& body : bodies) out.line("  {}", text_of(body));
      if (breakpoint.GetNumLocations() > max_rows)
        out.line("  {} more places are not shown", breakpoint.GetNumLocations() - max_rows);
      if (breakpoint.GetNumLocations() == 0)
        out.line("  {}", is_core(process) ? "no code" : "no code yet: will be set when it is compiled");
    }
    if (count == 0 && stopped) invocation.process(target)->breakpoints().refresh();
    const ManagedBreakpoints::HookState hook = invocation.process(target)->breakpoints().hook_state();
    if (json_) {
      out.line("{}", dump(Json{{"schema", json_schema},
                               {"breakpoints", std::move(all)},
                               {"watching_compilations", hook.armed},
                               {"told_by_runtime", hook.told},
                               {"compilations", hook.compilations}}));
      return;
    }
    if (count == 0) out.line("no breakpoints on managed code");
    if (hook.armed)
      out.line("the process is watched for new code: {} methods so far{}, {:.1f} ms for each",
               hook.compilations, hook.told ? " that the runtime told of" : "",
               hook.compilations == 0 ? 0 : hook.milliseconds / static_cast<double>(hook.compilations));
  }

  // The place that a breakpoint asks for.
  static std::string wish_text(lldb::SBBreakpoint& breakpoint) {
    const BreakpointWish wish = wish_of(breakpoint);
    switch (wish.kind) {
    case BreakpointWish::Kind::name:
      return joined(wish.names);
    case BreakpointWish::Kind::line:
      return fmt::format("{}:{}", wish.file, wish.line);
    case BreakpointWish::Kind::pattern:
      return fmt::format("all that matches '{}'", joined(wish.names));
    case BreakpointWish::Kind::address:
      return "an address";
    case BreakpointWish::Kind::unknown:
      break;
    }
    return "a place of another kind (breakpoint list)";
  }

  void remove(Invocation& invocation, lldb::SBTarget& target) const {
    std::vector<lldb::break_id_t> chosen;
    for (const std::string& word : ids_) {
      chosen.push_back(static_cast<lldb::break_id_t>(parse_count("N", word, {1, INT32_MAX})));
      lldb::SBBreakpoint breakpoint = target.FindBreakpointByID(chosen.back());
      if (!breakpoint.IsValid() || is_hidden(breakpoint))
        throw Error(ErrorKind::invalid_argument, fmt::format("there is no breakpoint {}", word));
    }
    for (const lldb::break_id_t id : chosen) target.BreakpointDelete(id);
    invocation.process(target)->breakpoints().refresh();
  }

  CLI::App *list_, *delete_;
  std::vector<std::string> words_, ids_;
  std::string condition_;
  bool one_shot_ = false, exception_ = false, thrown_ = false, unhandled_ = false, json_ = false;
};

} // namespace

CommandSpec break_command() {
  return {"break",
          nullptr,
          "Set a breakpoint on a managed method or line, compiled or not, or on exceptions; list or delete "
          "such breakpoints.",
          "clr break Program.cs:41",
          "stops where line 41 of Program.cs begins, also in code that is not compiled yet.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Break>(app); }};
}

} // namespace clr::lldb_plugin
