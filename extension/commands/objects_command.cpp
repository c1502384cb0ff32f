// clr objects: the objects of the managed heap, one by one.
#include "core/memory/count_text.h"
#include "core/objects/object_condition.h"
#include "core/report/heap_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/sos_words.h"
#include "extension/commands/text.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {

class Objects final : public CommandRun {
public:
  explicit Objects(CLI::App& app) {
    app.add_option("GLOB", query_.glob, "The types of the objects, a pattern with * and ?; all by default.");
    app.add_option("--method-table", table_,
                   "Objects of the type at this address alone, which `clr heap --stat` shows.")
        ->type_name("ADDRESS");
    add_part(app, part_);
    each_takes_one(app.add_option("-w,--where", where_,
                                  "Objects whose fields fit: FIELD=VALUE, also with != < <= > >=, and a path "
                                  "(Customer.Name=null); several times: those that fit all.")
                       ->type_name("CONDITION"));
    add_count(app, "-m,--min", query_.least_bytes, {0, ~std::uint64_t{0}},
              "Objects of so many bytes or more.");
    add_count(app, "-n,--top", most_, {1, ~std::uint64_t{0}},
              "So many objects at most, by ascending addresses.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    query_.part = part_named(part_);
    if (!table_.empty()) query_.method_table = evaluate_address(session.target(), table_);
    ObjectConditions conditions(where_);
    HeapReporter& heap = session.heap();
    ObjectReader& reader = *session.runtime().objects();
    JsonList list([&](std::string_view text) { out.write(text); });
    HeapCount count;
    std::string text;
    bool whole = true;
    const auto visit = [&](const HeapObjectRow& row) {
      whole = !out.interrupted() && count.objects < most_;
      if (!whole) return false;
      if (!conditions.hold(reader, row.address)) return true;
      ++count.objects;
      count.bytes += row.size;
      if (json_) {
        text.clear();
        JsonWriter json(text);
        write_json(json, row);
        list.add_text(text);
      } else {
        out.line("{:#018x} {:>9} {}", row.address, row.size, row.type->name);
      }
      return true;
    };
    const std::vector<HeapGap> gaps = heap.for_each_object(query_, visit, walk_options(out));
    if (out.interrupted()) whole = false;
    if (json_) {
      list.end();
      out.write("\n");
    } else {
      out.line("{}, {} bytes{}{}", count_text(count.objects, "object"), count.bytes,
               whole ? "" : "; there are more", whole_text_hint(count.objects, query_.glob));
    }
    if (const std::string problem = conditions.problem(); !problem.empty()) out.warning(problem);
    warn_of_heap(out, heap, gaps);
  }

private:
  HeapQuery query_;
  std::string part_, table_;
  std::vector<std::string> where_;
  std::uint64_t most_ = ~std::uint64_t{0};
  bool json_ = false;
};

} // namespace

CommandSpec objects_command() {
  return {"objects",
          "dumpheap",
          "List the objects of the managed heap: address, size in bytes and type.",
          "clr objects *.Order --where Id=4711",
          "finds the order with this number.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Objects>(app); },
          words_of_dumpheap};
}

} // namespace clr::lldb_plugin
