// clr refs: the references of an object, and those to it.
#include "core/report/holders_json.h"
#include "core/report/json_writer.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Refs final : public CommandRun {
public:
  explicit Refs(CLI::App& app) {
    app.add_option("ADDRESS", address_, "The address of an object.")->required();
    auto* const out =
        app.add_flag("-o,--out", out_only_, "Show the references that the object has, and no others.");
    app.add_flag("-i,--in", in_only_, "Show the references to the object, and no others.")->excludes(out);
    app.add_option("-t,--type", type_,
                   "Objects at the other end whose types match this pattern, with * and ?.")
        ->type_name("GLOB");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const Address object = evaluate_address(session.target(), address_);
    HeapHolders& holders = session.holders();
    const NameFilter filter(type_);
    std::vector<HeapReference> to, from;
    holders.object_at(object);
    if (!in_only_) to = holders.references(object);
    if (!out_only_) from = holders.referrers(object, walk_options(out));
    std::erase_if(to, [&](const HeapReference& r) { return !filter.accepts(holders.type_of(r.to)); });
    std::erase_if(from, [&](const HeapReference& r) { return !filter.accepts(holders.type_of(r.from)); });
    json_ ? print_json(object, holders, to, from, out) : print(object, holders, to, from, out);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
  }

private:
  void print_json(Address object, HeapHolders& holders, const std::vector<HeapReference>& to,
                  const std::vector<HeapReference>& from, Output& out) const {
    // Written member by member: an array has millions of references, and as a tree of values each takes a
    // kilobyte.
    std::string text;
    JsonWriter json(text);
    const auto list = [&](std::string_view name, const std::vector<HeapReference>& references, auto row) {
      json.key(name);
      json.begin_array();
      for (const HeapReference& reference : references) {
        json.raw(dump(row(reference, holders)));
        out.write(text);
        text.clear();
      }
      json.end_array();
    };
    json.begin_object();
    json.hex("object", object);
    json.text("type", holders.type_of(object));
    if (!in_only_) list("out", to, out_json);
    if (!out_only_) list("in", from, in_json);
    json.end_object();
    out.write(text + "\n");
  }

  void print(Address object, HeapHolders& holders, const std::vector<HeapReference>& to,
             const std::vector<HeapReference>& from, Output& out) const {
    out.line("{:#018x} {}", object, holders.type_of(object));
    if (!in_only_) {
      out.line("  refers to {} {}", to.size(), to.size() == 1 ? "object" : "objects");
      for (const HeapReference& reference : to)
        out.line("    {:<24} {:#018x} {}",
                 reference.field.empty() ? fmt::format("+{}", reference.offset.value_or(0)) : reference.field,
                 reference.to, holders.type_of(reference.to));
    }
    if (out_only_) return;
    out.line("  {} {} to it", from.size(), from.size() == 1 ? "reference leads" : "references lead");
    for (const HeapReference& reference : from)
      out.line("    {:#018x} {} {}", reference.from, holders.type_of(reference.from), reference.field);
  }

  std::string address_, type_;
  bool out_only_ = false, in_only_ = false, json_ = false;
};

} // namespace

CommandSpec refs_command() {
  return {"refs",
          nullptr,
          "Show the objects that an object refers to, and those that refer to it, each with the field.",
          "clr refs --out 0x7f6407c00028",
          "shows the fields of the object at this address that refer to others.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Refs>(app); }};
}

} // namespace clr::lldb_plugin
