// clr retained: what would go if something went.
#include "core/report/holders_json.h"
#include "core/runtime/heap_retainers.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

constexpr std::size_t rows_by_default = 20, most_rows = 1'000'000;

class Retained final : public CommandRun {
public:
  explicit Retained(CLI::App& app) {
    auto* const address = app.add_option(
        "ADDRESS", address_, "An object: what would go with it. Without it, the objects that retain most.");
    app.add_option("-b,--by", by_,
                   "What the rows are: object, the default; type; assembly, with the objects of its types; "
                   "static, a static field; or root: a static field, a handle, or a thread with all that it "
                   "holds.")
        ->type_name("WHAT")
        ->check(one_of({"object", "type", "assembly", "static", "root"}))
        ->excludes(address);
    app.add_option(
           "-t,--type", glob_,
           "Types, or with --by assemblies, static fields or roots, whose names match this pattern, with * "
           "and ?.")
        ->type_name("GLOB")
        ->excludes(address);
    add_count(app, "-n,--top", top_, {1, most_rows}, "So many rows at most; 20 by default.")
        ->excludes(address);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    HeapRetainers& retainers = session.retainers();
    const HeapWalkOptions options = walk_options(out);
    if (!address_.empty())
      print(retainers.object(evaluate_address(session.target(), address_), options), out);
    else // one more tells whether there are more
      print(retainers.rows(chosen(), glob_, top_ + 1, options), out);
    for (const std::string& text : session.holders().notes()) out.warning(text);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
  }

private:
  RetainedBy chosen() const {
    if (by_ == "type") return RetainedBy::type;
    if (by_ == "assembly") return RetainedBy::assembly;
    if (by_ == "root") return RetainedBy::root;
    return by_ == "static" ? RetainedBy::static_field : RetainedBy::object;
  }

  void print(const RetainedObject& found, Output& out) const {
    if (json_) return out.line("{}", dump(to_json(found)));
    const RetainedRow& row = found.row;
    out.line("{:#018x} {}: {} bytes", row.object, row.type, row.bytes);
    if (!found.alive) {
      out.line("  no root leads to it; the next collection frees it");
    } else {
      out.line("  with it would go {} objects, {} bytes", row.count, row.retained);
      if (found.holder != 0)
        out.line("  it would go with {:#018x} {}", found.holder, found.holder_type);
      else
        out.line("  roots hold it, or several objects which have nothing in common");
    }
    out.line("  it leads to {} objects, {} bytes, itself included", found.leads_to, found.reachable);
  }

  void print(std::vector<RetainedRow> rows, Output& out) const {
    const bool more = rows.size() > top_;
    if (more) rows.resize(top_);
    if (json_) {
      Json json = Json::array();
      for (const RetainedRow& row : rows) json.push_back(to_json(row));
      return out.line("{}", dump(json));
    }
    const bool types = by_ == "type" || by_ == "assembly";
    if (!rows.empty())
      out.line("{:>15} {:>11} {:>15} {}", "retained", "count", "bytes",
               types || by_ == "root" ? by_ : "object");
    for (const RetainedRow& row : rows) {
      if (row.root) {
        out.line("{:>15} {:>11} {:>15} {}{}", row.retained, row.count, row.bytes, text_of(*row.root),
                 row.object == 0 ? "" : fmt::format(": {:#018x} {}", row.object, row.type));
        continue;
      }
      out.line("{:>15} {:>11} {:>15} {}{}{}", row.retained, row.count, row.bytes,
               types ? "" : fmt::format("{:#018x} ", row.object), row.type + row.assembly,
               row.field.empty() ? "" : " in " + row.field);
    }
    if (rows.empty()) out.line("none{}", whole_text_hint(0, glob_));
    if (more) out.line("there are more rows: --top N shows N");
  }

  std::string address_, by_ = "object", glob_;
  std::size_t top_ = rows_by_default;
  bool json_ = false;
};

} // namespace

CommandSpec retained_command() {
  return {"retained",
          "objsize",
          "Show what would go if an object went, or the objects, types or static fields that retain most.",
          "clr retained --by static --top 10",
          "shows the ten static fields that alone hold most of the heap.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Retained>(app); }};
}

} // namespace clr::lldb_plugin
