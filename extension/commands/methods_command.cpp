// clr methods: the methods that the runtime knows, body by body.
#include "core/memory/count_text.h"
#include "core/report/answer_json.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Methods final : public CommandRun {
public:
  explicit Methods(CLI::App& app) {
    app.add_option("GLOB", query_.glob,
                   "List methods whose full name matches this pattern, with * and ?; all by default.");
    auto* const jitted = app.add_flag("--jitted", jitted_only_, "List methods in code heaps only.");
    app.add_flag("--r2r", r2r_only_, "List ReadyToRun methods only, also those that never ran.")
        ->excludes(jitted);
    auto* const count =
        app.add_flag("-c,--count", count_only_, "Print the number of methods and nothing else.");
    add_json(app, json_)->excludes(count);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    query_.jitted = !r2r_only_;
    query_.r2r = !jitted_only_;
    require_runtime(session.runtime());
    JsonList list([&](std::string_view text) { out.write(text); });
    std::size_t count = 0;
    const auto holes = session.runtime().for_each_method(query_, [&](const MethodRow& row) {
      if (out.interrupted()) return false;
      ++count;
      if (count_only_) return true;
      if (json_)
        list.add_text(json_text(row));
      else
        out.line("{}", text_of(row));
      return true;
    });
    if (json_) {
      list.end();
      out.write("\n");
    } else {
      out.line("{}{}", count_text(count, "method"), whole_text_hint(count, query_.glob));
    }
    warn_of(out, holes);
  }

private:
  static std::string text_of(const MethodRow& row) {
    std::uint64_t size = 0;
    for (const CodeRegion& region : row.code.regions) size += region.size;
    const std::string size_text = row.code.regions.empty() ? "?" : fmt::format("{}", size);
    const std::string start = row.code.start != 0 ? fmt::format("{:#018x}", row.code.start) : "?";
    return fmt::format("{:<18} {:>7} {:<22} {}`{}", start, size_text, describe_kind(row.code),
                       row.method.module, row.method.shown_name());
  }

  MethodQuery query_;
  bool jitted_only_ = false, r2r_only_ = false, count_only_ = false, json_ = false;
};

} // namespace

CommandSpec methods_command() {
  return {"methods",
          nullptr,
          "List the methods that the runtime has code for: address, size, kind and name.",
          "clr methods --jitted *Main*",
          "lists the compiled methods with Main in their names.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Methods>(app); }};
}

} // namespace clr::lldb_plugin
