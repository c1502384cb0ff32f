// clr source: the source around an address of managed code.
#include "core/memory/error.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/source_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::lldb_plugin {

namespace {

constexpr std::uint32_t max_context = 10'000; // lines

class Source final : public CommandRun {
public:
  explicit Source(CLI::App& app) {
    app.add_option("ADDRESS", address_,
                   "An address within managed code; the selected frame's pc by default.");
    add_count(app, "-c,--context", context_, {0, max_context},
              "Show N lines before and after; 5 by default.");
    app.add_flag("--any", any_, "Show also a file that is not, or may not be, the one that was compiled.");
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    Runtime& runtime = session.runtime();
    require_runtime(runtime);
    const Address ip = evaluate_address(session.target(), address_.empty() ? "$pc" : address_);
    // In a frame that called another one the pc is behind the call; the line of the call is wanted.
    lldb::SBFrame frame = session.target().GetProcess().GetSelectedThread().GetSelectedFrame();
    const bool behind_call = address_.empty() && frame.IsValid() && frame.GetFrameID() > 0 && ip != 0;
    runtime::Answer answer = runtime.resolve(behind_call ? ip - 1 : ip);
    runtime.add_source(answer);
    const auto* method = std::get_if<MethodAnswer>(&answer.result);
    if (method == nullptr)
      throw Error(ErrorKind::invalid_argument, fmt::format("{:#x} is no managed code", ip));
    out.line("{}", method_and_offset(method->method, method->code) + source_position(method->source));
    if (!method->source)
      throw Error(ErrorKind::invalid_argument, "it has no IL, or its debug info cannot be read");
    if (method->source->file.empty())
      throw Error(ErrorKind::invalid_argument, why_no_symbols(runtime, method->method));
    print(out, session, *method->source);
  }

private:
  static std::string why_no_symbols(Runtime& runtime, const Method& method) {
    for (const SourceLines::Symbols& symbols : runtime.lines()->symbols())
      if (symbols.module == method.module && !symbols.problem.empty())
        return fmt::format("no source line: {}", symbols.problem);
    return fmt::format("the symbols of {} say nothing of it", method.module);
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

  std::string address_;
  std::uint32_t context_ = 5;
  bool any_ = false;
};

} // namespace

CommandSpec source_command() {
  return {"source",
          nullptr,
          "Show the source around an address of managed code.",
          "clr source -c 10 $pc",
          "shows the selected frame's line with 10 lines before and after it.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Source>(app); }};
}

} // namespace clr::lldb_plugin
