// clr root: why an object is alive.
#include "core/report/holders_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

// Roots of one object that are told; more say no more.
constexpr std::size_t most_paths = 10'000;

// Of objects of one type that lead to each other by the same field, so many at each end are shown.
constexpr std::size_t shown_of_a_list = 3;

class Root final : public CommandRun {
public:
  explicit Root(CLI::App& app) {
    app.add_option("ADDRESS", address_, "The address of an object.")->required();
    auto* const all = app.add_flag(
        "-a,--all", all_,
        fmt::format("Show a path from every root that leads to the object, from {} at most.", most_paths));
    add_count(app, "-p,--paths", most_, {1, most_paths}, "Show paths from so many roots, the shortest first.")
        ->excludes(all);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const Address object = evaluate_address(session.target(), address_);
    HeapHolders& holders = session.holders();
    const std::size_t most = all_ ? most_paths : most_;
    // One more tells whether there are more.
    HeapPaths found = holders.paths(object, most == 1 ? 1 : most + 1, walk_options(out));
    std::vector<HeapPath>& paths = found.paths;
    const bool more = !found.left_out.empty() || paths.size() > most;
    if (paths.size() > most) paths.resize(most);
    if (json_) {
      Json json{{"object", hex(object)}, {"complete", all_ && !more}, {"paths", Json::array()}};
      for (const HeapPath& path : paths) json["paths"].push_back(to_json(path));
      out.line("{}", dump(json));
    } else {
      for (const HeapPath& path : paths) print(path, out);
      if (paths.empty())
        out.line("{:#x} {}: no root leads to it; the next collection frees it", object,
                 holders.type_of(object));
      else if (!found.left_out.empty())
        out.line("{}", found.left_out);
      else if (more && most == most_paths)
        out.line("there are more roots: at most {} are shown", most_paths);
      else if (more)
        out.line("there are more roots: --all shows them, at most {}", most_paths);
    }
    for (const std::string& text : session.heap().warnings()) out.warning(text);
    if (paths.empty())
      for (const std::string& text : holders.notes()) out.warning(text);
  }

private:
  static void print(const HeapPath& path, Output& out) {
    out.line("{}", root_text(path.root));
    const std::vector<HeapStep>& steps = path.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // A list of thousands is one line.
      if (steps[i].left_out != 0) out.line("  ... {} more", steps[i].left_out);
      std::size_t end = i;
      while (end < steps.size() && (end == i || steps[end].left_out == 0) &&
             steps[end].field == steps[i].field && steps[end].type == steps[i].type)
        ++end;
      if (end - i > 2 * shown_of_a_list + 1 && i != 0) {
        for (const std::size_t last = i + shown_of_a_list; i < last; ++i) print(steps[i], out);
        out.line("  ... {} more by {}", end - shown_of_a_list - i, steps[i].field);
        i = end - shown_of_a_list;
      }
      print(steps[i], out);
    }
  }

  static void print(const HeapStep& step, Output& out) {
    out.line("  {}{:#018x} {}", step.field.empty() ? "" : fmt::format("{} -> ", step.field), step.object,
             step.type);
  }

  std::string address_;
  std::size_t most_ = 1;
  bool all_ = false, json_ = false;
};

std::unique_ptr<CommandRun> make_root(CLI::App& app) {
  return std::make_unique<Root>(app);
}

} // namespace

CommandSpec root_command() {
  return {"root",
          "gcroot",
          "Show why an object is alive: the shortest path to it from a stack, a handle or another root.",
          "clr root 0x7f6407c00028",
          "shows what holds the object at this address.",
          &make_root};
}

} // namespace clr::lldb_plugin
