// clr statics: what static fields hold.
#include "core/report/holders_json.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Statics final : public CommandRun {
public:
  explicit Statics(CLI::App& app) {
    app.add_option("GLOB", glob_, "Fields whose names (Ns.Type.Field) match this pattern, with * and ?.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    HeapHolders& holders = session.holders();
    const NameFilter filter(glob_);
    JsonList list([&](std::string_view text) { out.write(text); });
    std::size_t count = 0;
    for (const StaticField& field : holders.statics().all([&] { return !out.interrupted(); })) {
      if (out.interrupted()) break;
      if (!filter.accepts(field.name)) continue;
      std::optional<Address> object;
      try {
        object = session.runtime().target()->read_pointer(field.slot);
      } catch (const Error&) {
        // The field is shown without what it holds.
      }
      const std::string type = object && *object != 0 ? holders.type_of(*object) : std::string();
      ++count;
      if (json_)
        list.add({{"name", field.name},
                  {"object", object ? Json(hex(*object)) : Json()},
                  {"type", type.empty() ? Json() : Json(type)}});
      else
        out.line("{:<18} {} {}", object ? fmt::format("{:#018x}", *object) : "?", field.name, type);
    }
    if (json_) {
      list.end();
      out.write("\n");
    } else {
      out.line("{} {}", count, count == 1 ? "field" : "fields");
    }
  }

private:
  std::string glob_;
  bool json_ = false;
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
