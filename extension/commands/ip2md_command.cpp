// clr ip2md: which method owns an address, or exactly why none does.
#include "core/memory/error.h"
#include "core/memory/text_lines.h"
#include "core/report/answer_json.h"
#include "core/report/json.h"
#include "core/runtime/address_queries.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"
#include "extension/lldb/modules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace clr::lldb_plugin {

namespace {

// Of a file of addresses, which may come from anywhere.
constexpr std::size_t max_line = 4096;        // bytes
constexpr std::uint64_t max_file = 64u << 20; // bytes
constexpr std::size_t max_lines = 1'000'000;  // each is looked up

class Ip2md final : public CommandRun {
public:
  explicit Ip2md(CLI::App& app) {
    app.add_option("ADDRESS", addresses_, "A number, a register ($pc), a symbol or an expression.");
    app.add_option(
           "-f,--from", file_,
           "Read addresses from FILE, one in a line: numbers, registers and symbols, no expressions. # "
           "begins a comment.")
        ->type_name("FILE");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    if (addresses_.empty() && file_.empty())
      throw Error(ErrorKind::invalid_argument,
                  "ADDRESS is missing: give one or more, such as $pc, or a file of them with --from");
    session_ = &invocation.session();
    out_ = &invocation.out;
    JsonList list([&](std::string_view text) { out_->write(text); });
    list_ = &list;
    for (const std::string& text : addresses_)
      if (!answer(text, &evaluate_address)) break;
    if (!file_.empty()) answer_file();
    if (!json_) return;
    list.end();
    out_->write("\n");
  }

private:
  // False when the user asked to stop.
  bool answer(const std::string& text, Address (*address_of)(lldb::SBTarget&, const std::string&)) {
    if (out_->interrupted()) return false;
    Address address = 0;
    try {
      address = address_of(session_->target(), text);
    } catch (const Error& error) {
      out_->error(error.what());
      return true;
    }
    runtime::Answer found = answer_at(session_->runtime(), address,
                                      [this](Address at) { return symbol_at(session_->target(), at); });
    session_->runtime().add_source(found);
    if (json_)
      list_->add_text(json_text(found));
    else
      out_->write(describe(found));
    return true;
  }

  void answer_file() {
    TextLines lines(file_, max_line, max_file);
    while (const auto next = lines.next()) {
      if (lines.number() > max_lines)
        return out_->error(fmt::format("{} has more than {} lines: the rest is left out", file_, max_lines));
      if (next->size() > max_line) {
        out_->error(
            fmt::format("line {} of {} is longer than {} characters", lines.number(), file_, max_line));
        continue;
      }
      const std::string_view text = next->substr(0, next->find('#'));
      const auto first = text.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) continue;
      const auto last = text.find_last_not_of(" \t\r");
      if (!answer(std::string(text.substr(first, last - first + 1)), &plain_address)) return;
    }
  }

  std::vector<std::string> addresses_;
  std::string file_;
  bool json_ = false;

  Session* session_ = nullptr;
  Output* out_ = nullptr;
  JsonList* list_ = nullptr;
};

} // namespace

CommandSpec ip2md_command() {
  return {"ip2md",
          "clrip2md",
          "Show which managed method owns an address, or why none does.",
          "clrip2md $pc",
          "tells the method that the selected frame is in.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Ip2md>(app); }};
}

} // namespace clr::lldb_plugin
