// clr statics: what static fields hold.
#include "core/memory/count_text.h"
#include "core/report/holders_json.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_map>

namespace clr::lldb_plugin {

namespace {

class Statics final : public CommandRun {
public:
  explicit Statics(CLI::App& app) {
    app.add_option("GLOB", glob_,
                   "Fields whose names (Ns.Type.Field), or those of their types, match this pattern, with * "
                   "and ?.");
    app.add_flag(
        "-b,--bytes", bytes_,
        "Show what would go with each field if it were null, the largest first. All references of the "
        "heap are read for it.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    std::vector<Row> rows = rows_of(session, out);
    if (bytes_) {
      add_bytes(session, rows, out);
      std::ranges::stable_sort(rows, std::greater<>(), [](const Row& row) { return row.retained; });
    }
    json_ ? print_json(session, rows, out) : print(session, rows, out);
    if (!bytes_) return;
    for (const std::string& text : session.holders().notes()) out.warning(text);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
  }

private:
  struct Row {
    const StaticField* field = nullptr;
    std::optional<Address> object; // nothing: its memory is missing
    std::uint64_t retained = 0, count = 0;
  };

  std::vector<Row> rows_of(Session& session, Output& out) const {
    const NameFilter filter(glob_);
    std::vector<Row> rows;
    for (const StaticField& field : session.holders().statics().all([&] { return !out.interrupted(); })) {
      if (!filter.accepts(field.name) && !filter.accepts(field.name.substr(0, field.name.rfind('.'))))
        continue;
      Row& row = rows.emplace_back();
      row.field = &field;
      try {
        row.object = session.runtime().target()->read_pointer(field.slot);
      } catch (const Error&) {
        // The field is shown without what it holds.
      }
    }
    return rows;
  }

  static void add_bytes(Session& session, std::vector<Row>& rows, Output& out) {
    std::unordered_map<Address, const RetainedRow*> by_slot;
    const std::vector<RetainedRow> roots = session.retainers().roots("", ~std::size_t{0}, walk_options(out));
    for (const RetainedRow& root : roots)
      if (root.root && root.root->kind == HeapRoot::Kind::static_field && root.root->slot)
        by_slot.emplace(*root.root->slot, &root);
    for (Row& row : rows)
      if (const auto found = by_slot.find(row.field->slot); found != by_slot.end()) {
        row.retained = found->second->retained;
        row.count = found->second->count;
      }
  }

  static std::string type_of(Session& session, const Row& row) {
    return row.object && *row.object != 0 ? session.holders().type_of(*row.object) : std::string();
  }

  void print_json(Session& session, const std::vector<Row>& rows, Output& out) const {
    JsonList list([&](std::string_view text) { out.write(text); });
    for (const Row& row : rows) {
      if (out.interrupted()) break;
      const std::string type = type_of(session, row);
      Json json{{"name", row.field->name},
                {"object", row.object ? Json(hex(*row.object)) : Json()},
                {"type", type.empty() ? Json() : Json(type)}};
      if (bytes_) {
        json["count"] = row.count;
        json["retained"] = row.retained;
      }
      list.add(json);
    }
    list.end();
    out.write("\n");
  }

  void print(Session& session, const std::vector<Row>& rows, Output& out) const {
    if (bytes_ && !rows.empty()) out.line("{:>15} {:>11} {:<18} field", "retained", "count", "object");
    for (const Row& row : rows) {
      if (out.interrupted()) return;
      out.line("{}{:<18} {} {}", bytes_ ? fmt::format("{:>15} {:>11} ", row.retained, row.count) : "",
               row.object ? fmt::format("{:#018x}", *row.object) : "?", row.field->name,
               type_of(session, row));
    }
    const bool asked_in_vain = rows.empty() && !glob_.empty();
    out.line("{}{}", count_text(rows.size(), "field"),
             asked_in_vain ? fmt::format("; `clr static {}` also shows those that hold no objects", glob_)
                           : "");
  }

  std::string glob_;
  bool bytes_ = false, json_ = false;
};

} // namespace

CommandSpec statics_command() {
  return {"statics",
          nullptr,
          "List the static fields that hold objects; `clr static` shows static fields of every kind with "
          "their values.",
          "clr statics System.Threading.*",
          "lists the static fields of these types, and what they hold.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Statics>(app); }};
}

} // namespace clr::lldb_plugin
