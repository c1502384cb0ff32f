// clr strings: the texts of the managed heap.
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

class Strings final : public CommandRun {
public:
  explicit Strings(CLI::App& app) {
    app.add_option("-m,--match", query_.match,
                   "Strings whose whole text matches this pattern, with * and ?; of a text of more than 256 "
                   "characters the first 256 are compared.")
        ->type_name("GLOB");
    app.add_flag("-d,--duplicates", duplicates_, "Show each text that several strings have, once.");
    add_count(app, "--min", query_.least_bytes, {0, ~std::uint64_t{0}}, "Strings of so many bytes or more.");
    add_count(
        app, "-n,--top", top_, {1, 100'000'000},
        "So many rows at most: those that take most bytes with --duplicates, else by ascending addresses.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    duplicates_ ? show_duplicates(session, out) : show(session, out);
  }

private:
  void show(Session& session, Output& out) const {
    JsonList list([&](std::string_view text) { out.write(text); });
    std::uint64_t count = 0, bytes = 0;
    bool whole = true;
    const auto gaps =
        for_each_string(session.runtime(), session.heap(), query_, [&](const HeapString& string) {
          whole = !out.interrupted() && (top_ == 0 || count < top_);
          if (!whole) return false;
          ++count;
          bytes += string.bytes;
          if (json_)
            list.add(to_json(string, false));
          else
            out.line("{:#018x} {:>9} \"{}\"{}", string.address, string.length, string.text, more(string));
          return true;
        });
    if (json_) {
      list.end();
      out.write("\n");
    } else {
      out.line("{}, {} bytes{}{}", count_text(count, "string"), bytes, whole ? "" : "; there are more",
               whole_text_hint(count, query_.match));
    }
    warn_of_heap(out, session.heap(), gaps);
  }

  void show_duplicates(Session& session, Output& out) const {
    // One more tells whether there are more.
    DuplicateStrings found = find_duplicates(session.runtime(), session.heap(), query_,
                                             top_ == 0 ? 0 : top_ + 1, [&] { return !out.interrupted(); });
    const bool more_rows = top_ != 0 && found.rows.size() > top_;
    if (more_rows) found.rows.resize(top_);
    if (json_) {
      JsonList list([&](std::string_view text) { out.write(text); });
      for (const HeapString& string : found.rows) {
        if (out.interrupted()) break;
        list.add(to_json(string, true));
      }
      list.end();
      out.write("\n");
    } else {
      if (!found.rows.empty()) out.line("{:>11} {:>15} {:>9} text", "count", "bytes", "length");
      for (const HeapString& string : found.rows) {
        if (out.interrupted()) break;
        out.line("{:>11} {:>15} {:>9} \"{}\"{}", string.count, string.bytes, string.length, string.text,
                 more(string));
      }
      if (more_rows) out.line("there are more rows: --top N shows N");
      out.line("{} of {}", count_text(found.strings, "string"), count_text(found.texts, "different text"));
    }
    if (found.interrupted) out.warning("the counts are of the part of the heap that was looked at");
    warn_of_heap(out, session.heap(), found.gaps);
  }

  static std::string_view more(const HeapString& string) {
    return string.length > StringQuery{}.text_units ? "..." : "";
  }

  StringQuery query_;
  std::size_t top_ = 0;
  bool duplicates_ = false, json_ = false;
};

} // namespace

CommandSpec strings_command() {
  return {"strings",
          nullptr,
          "Show the strings of the managed heap, or the texts that are there more than once.",
          "clr strings --duplicates --top 20",
          "shows the twenty texts whose copies take most memory.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Strings>(app); }};
}

} // namespace clr::lldb_plugin
