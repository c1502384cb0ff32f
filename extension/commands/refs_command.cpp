// clr refs: the references of an object, and those to it.
#include "core/memory/count_text.h"
#include "core/report/holders_json.h"
#include "core/report/json_writer.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>

#include <functional>

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
    holders.object_at(object);
    json_ ? print_json(object, holders, out) : print(object, holders, out);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
    for (const std::string& text : holders.notes()) out.warning(text);
  }

private:
  enum class Way : std::uint8_t { out, in };

  // Of an array there are millions, so none is kept.
  void for_each(Way way, Address object, HeapHolders& holders, Output& out,
                const std::function<void(const HeapReference&)>& visit) const {
    const NameFilter filter(type_);
    const auto look = [&](const HeapReference& reference) {
      if (filter.everything() ||
          filter.accepts(holders.type_of(way == Way::in ? reference.from : reference.to)))
        visit(reference);
      return !out.interrupted();
    };
    if (way == Way::in)
      holders.for_each_referrer(object, look, walk_options(out));
    else
      holders.for_each_reference(object, look);
  }

  std::size_t count(Way way, Address object, HeapHolders& holders, Output& out) const {
    std::size_t found = 0;
    for_each(way, object, holders, out, [&](const HeapReference&) { ++found; });
    return found;
  }

  void print_json(Address object, HeapHolders& holders, Output& out) const {
    std::string text;
    JsonWriter json(text);
    const auto list = [&](std::string_view name, Way way, auto row) {
      json.key(name);
      json.begin_array();
      if (out.interrupted()) return json.end_array();
      for_each(way, object, holders, out, [&](const HeapReference& reference) {
        json.raw(row(reference, holders));
        out.write(text);
        text.clear();
      });
      json.end_array();
    };
    json.begin_object();
    json.hex("object", object);
    json.text("type", holders.type_of(object));
    if (!in_only_) list("out", Way::out, out_json);
    if (!out_only_) list("in", Way::in, in_json);
    json.end_object();
    out.write(text + "\n");
  }

  void print(Address object, HeapHolders& holders, Output& out) const {
    out.line("{:#018x} {}", object, holders.type_of(object));
    if (!in_only_) {
      const std::size_t found = count(Way::out, object, holders, out);
      if (out.interrupted()) return;
      out.line("  refers to {}{}", count_text(found, "object"), whole_text_hint(found, type_));
      for_each(Way::out, object, holders, out, [&](const HeapReference& reference) {
        out.line("    {:<24} {:#018x} {}",
                 reference.field.empty() ? fmt::format("+{}", reference.offset.value_or(0)) : reference.field,
                 reference.to, holders.type_of(reference.to));
      });
    }
    if (out_only_ || out.interrupted()) return;
    const std::size_t found = count(Way::in, object, holders, out);
    if (out.interrupted()) return;
    out.line("  {} to it{}", count_text(found, "reference leads", "references lead"),
             whole_text_hint(found, type_));
    for_each(Way::in, object, holders, out, [&](const HeapReference& reference) {
      out.line("    {:#018x} {} {}", reference.from, holders.type_of(reference.from), reference.field);
    });
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
