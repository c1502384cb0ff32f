// clr arrays: the largest arrays of the managed heap, and those of which most holds nothing.
#include "core/memory/count_text.h"
#include "core/report/heap_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

constexpr std::size_t rows_by_default = 20, most_rows = 1'000'000;

class Arrays final : public CommandRun {
public:
  explicit Arrays(CLI::App& app) {
    query_.objects.top = rows_by_default;
    app.add_option("GLOB", query_.objects.glob,
                   "The types of the arrays (byte[], *Order[]), a pattern with * and ?; all by default.");
    app.add_flag("-s,--sparse", query_.sparse,
                 "Those first that have most memory in empty elements: null, zero, or a value of zeros.");
    add_part(app, part_);
    add_count(app, "-m,--min", query_.objects.least_bytes, {0, ~std::uint64_t{0}},
              "Arrays of so many bytes or more.");
    add_count(app, "-n,--top", query_.objects.top, {1, most_rows}, "So many rows at most; 20 by default.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    query_.objects.part = part_named(part_);
    HeapReporter& heap = session.heap();
    const HeapArrays found = find_arrays(heap, query_, walk_options(out));
    json_ ? out.line("{}", dump(to_json(found))) : print(found, out);
    if (found.interrupted) out.warning("the arrays are those of the part of the heap that was looked at");
    warn_of_heap(out, heap, found.gaps);
  }

private:
  void print(const HeapArrays& found, Output& out) const {
    if (!found.rows.empty())
      out.line("{:>18} {:>13} {:>11} {:>11} {:>13} {:>7} {}", "array", "bytes", "elements", "empty",
               "their bytes", "", "type");
    for (const HeapArray& row : found.rows)
      out.line("{:#018x} {:>13} {:>11} {:>11} {:>13} {:>7} {}{}", row.object.address, row.object.size,
               row.counts.elements, row.counts.empty, row.counts.empty_bytes(),
               percent(row.counts.empty, row.counts.elements), row.object.type->name,
               row.counts.whole ? "" : " (memory of it is missing)");
    if (found.rows.size() < found.arrays && !found.rows.empty())
      out.line("{} not shown: --top N shows N",
               count_text(found.arrays - found.rows.size(), "more array is", "more arrays are"));
    out.line("{}, {} bytes{}{}", count_text(found.arrays, "array"), found.bytes,
             query_.sparse ? fmt::format("; empty elements take {} of them", found.empty_bytes) : "",
             whole_text_hint(found.arrays, query_.objects.glob));
  }

  ArrayQuery query_;
  std::string part_;
  bool json_ = false;
};

} // namespace

CommandSpec arrays_command() {
  return {"arrays",
          nullptr,
          "Show the largest arrays of the managed heap, or those of which most is empty.",
          "clr arrays --sparse --min 10000",
          "shows the arrays of 10,000 bytes and more that have most memory in empty elements.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Arrays>(app); }};
}

} // namespace clr::lldb_plugin
