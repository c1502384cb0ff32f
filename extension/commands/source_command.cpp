// clr source: the source of a method, or around an address of managed code.
#include "core/describe/break_targets.h"
#include "core/memory/error.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/body_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace clr::lldb_plugin {

namespace {

constexpr std::uint32_t max_context = 10'000; // lines
constexpr std::size_t max_methods = 20;       // shown of one name

class Source final : public CommandRun {
public:
  explicit Source(CLI::App& app) {
    body_.add_to(app);
    add_count(app, "-c,--context", context_, {0, max_context},
              "Show N lines before and after; 5 by default.");
    app.add_flag("--any", any_, "Show also a file that is not, or may not be, the one that was compiled.");
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    Runtime& runtime = session.runtime();
    require_runtime(runtime);
    if (const std::string name = body_.name(); !name.empty() && show_methods(session, name, out)) return;
    const Address ip = body_.given() ? place_of(session, out) : evaluate_address(session.target(), "$pc");
    // In a frame that called another one the pc is behind the call; the line of the call is wanted.
    lldb::SBFrame frame = session.target().GetProcess().GetSelectedThread().GetSelectedFrame();
    const bool behind_call = !body_.given() && frame.IsValid() && frame.GetFrameID() > 0 && ip != 0;
    runtime::Answer answer = runtime.resolve(behind_call ? ip - 1 : ip);
    runtime.add_source(answer);
    const auto* method = std::get_if<MethodAnswer>(&answer.result);
    if (method == nullptr)
      throw Error(ErrorKind::invalid_argument, fmt::format("{:#x} is no managed code", ip));
    out.line("{}", method_and_offset(method->method, method->code) + source_position(method->source));
    if (!method->source)
      throw Error(ErrorKind::invalid_argument, "it has no IL, or its debug info cannot be read");
    if (method->source->file.empty())
      throw Error(ErrorKind::invalid_argument,
                  why_no_symbols(runtime, method->method.module, method->method.full_name));
    print(out, session, *method->source);
  }

private:
  // The MoveNext methods of async methods and iterators by these, which only start the state machine.
  using Machines = std::map<std::pair<Address, std::string>, BreakTarget>;

  // Methods are shown by their first line, compiled or not. False: none is called so.
  bool show_methods(Session& session, const std::string& name, Output& out) const {
    Runtime& runtime = session.runtime();
    const auto stop = [&] { return out.interrupted(); };
    const BreakTargets found = methods_called(runtime, name, stop);
    std::optional<Machines> machines;
    std::size_t shown = 0;
    for (const BreakTarget& target : found.methods) {
      if (stop()) return true;
      auto source = first_line(*runtime.lines(), target);
      if (!source) {
        if (!machines) machines = machines_of(methods_called(runtime, "MoveNext", stop));
        const auto machine = machines->find({target.module_address, target.name});
        if (machine != machines->end()) source = first_line(*runtime.lines(), machine->second);
      }
      if (!source) continue;
      if (shown++ == max_methods) {
        out.line("more than {} methods are called {}", max_methods, name);
        return true;
      }
      out.line("{}`{}{}", target.module, printable(target.name), source_position(source));
      print(out, session, *source);
    }
    if (shown == 0 && !found.methods.empty())
      throw Error(ErrorKind::invalid_argument,
                  why_no_symbols(runtime, found.methods.front().module, found.methods.front().name));
    return shown != 0;
  }

  static Machines machines_of(const BreakTargets& all) {
    Machines machines;
    for (const BreakTarget& machine : all.methods)
      machines.emplace(std::pair(machine.module_address, machine.user_name), machine);
    return machines;
  }

  static std::optional<SourceLine> first_line(SourceLines& lines, const BreakTarget& target) {
    const PortablePdb* const pdb = lines.pdb_of(target.module_address);
    if (pdb == nullptr) return std::nullopt;
    for (const SequencePoint& point : pdb->sequence_points(target.token))
      if (!point.hidden) {
        Method method;
        method.token = target.token;
        method.runtime_module = target.module_address;
        return lines.of_il(method, point.il_offset);
      }
    return std::nullopt;
  }

  // The address that was given, or where the method's code starts.
  Address place_of(Session& session, Output& out) {
    const CodeBlock block = body_.find(session, out, false);
    return body_.asked().value_or(block.start);
  }

  static std::string why_no_symbols(Runtime& runtime, const std::string& module, const std::string& method) {
    for (const SourceLines::Symbols& symbols : runtime.lines()->symbols())
      if (symbols.module == module && !symbols.problem.empty())
        return fmt::format("no source line: {}", symbols.problem);
    return fmt::format("the symbols of {} say nothing of {}", module, method);
  }

  void print(Output& out, Session& session, const SourceLine& source) const {
    SourceTexts texts(any_);
    const SourceTexts::File* const file = texts.file(session, source);
    out.line("{}:{}{}", source.file, source.line,
             file == nullptr || file->found_at == source.file ? std::string()
             : file->found_at.empty()                         ? std::string(" (in the PDB)")
                                                              : fmt::format(" ({})", file->found_at));
    if (file == nullptr) {
      const std::string problem = texts.problem(source);
      throw Error(ErrorKind::io, problem.empty() ? "the file is not on this host (`clr settings --path-map "
                                                   "FROM=TO` tells where it is), nor in the PDB"
                                                 : problem);
    }
    if (!file->doubt.empty()) out.warning(file->doubt);
    if (source.line == 0 || source.line > file->lines())
      throw Error(ErrorKind::io,
                  fmt::format("the file has {} lines only: it is of another build", file->lines()));
    const std::size_t around = context_;
    const std::size_t first = source.line > around ? source.line - around : 1;
    const std::size_t last = std::min(file->lines(), source.line + around);
    for (std::size_t n = first; n <= last; ++n)
      out.line("{} {:<5} {}", n == source.line ? "->" : "  ", n, file->line(n));
  }

  BodyArgument body_;
  std::uint32_t context_ = 5;
  bool any_ = false;
};

} // namespace

CommandSpec source_command() {
  return {"source",
          nullptr,
          "Show the source of a method, or around an address of managed code.",
          "clr source -c 10",
          "shows the selected frame's line with 10 lines before and after it.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Source>(app); }};
}

} // namespace clr::lldb_plugin
