// clr symbolize: a file of addresses as a profile's report, or address by address.
#include "core/memory/error.h"
#include "core/memory/path_map.h"
#include "core/memory/text_lines.h"
#include "core/memory/utf8.h"
#include "core/report/json.h"
#include "core/report/packed_core.h"
#include "core/runtime/symbol_answer.h"
#include "core/symbols/profile.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace clr::lldb_plugin {

namespace {

// All rows, as long as nobody asks for fewer: a profile has no more different samples.
constexpr std::size_t max_top = 1'000'000'000;
constexpr std::uint64_t max_file = std::uint64_t{4} << 30; // bytes; room for as many samples as are taken

class Symbolize final : public CommandRun {
public:
  explicit Symbolize(CLI::App& app) {
    app.add_option(
           "FILE", file_,
           "A file of lines ADDRESS [COUNT [SECONDS]]; seconds count from the start of an added trace.")
        ->required();
    auto* const top = add_count(app, "-t,--top", top_, {1, max_top}, "Print the N largest rows only.");
    app.add_flag("-e,--each", each_, "Print the symbol of each line instead of the report.")->excludes(top);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    out_ = &invocation.out;
    require_text(file_);
    TextLines in(file_, symbols::Profile::max_line, max_file);
    choose_sources(invocation);
    if (each_)
      print_each(in);
    else
      print_report(in);
    for (const MalformedClass& kind : profile_.malformed().classes())
      out_->warning(fmt::format("{} lines left out, first line {}: {}", kind.count, kind.first, kind.what));
  }

private:
  // The process, and the files that were added; the files alone where there is no process.
  void choose_sources(Invocation& invocation) {
    try {
      session_ = &invocation.session();
      symbols_ = session_->runtime().symbols();
    } catch (const Error& error) {
      if (invocation.workspace().symbol_files().empty()) throw;
      out_->warning(fmt::format("only the added symbol files are asked: {}", error.what()));
      own_symbols_.emplace(invocation.workspace().symbol_files(), [] { return std::vector<SymbolImage>(); });
      symbols_ = &*own_symbols_;
    }
  }

  // Calls `visit` with each sample; false stops.
  template<typename Visit>
  void each_sample(TextLines& in, Visit visit) {
    while (const auto line = in.next()) {
      if (out_->interrupted()) return;
      const auto sample = profile_.parse(*line, in.number());
      if (sample && !visit(*sample)) return;
    }
  }

  void print_report(TextLines& in) {
    each_sample(in, [&](const symbols::Sample& sample) {
      if (profile_.add(sample)) return true;
      out_->warning("there are more different samples than this command takes: the rest is left out");
      return false;
    });
    const std::size_t all = profile_.distinct();
    const symbols::Profile::Report report = profile_.rows(
        [&](Address address, std::optional<double> seconds) { return owner_of(address, seconds); },
        [&](std::size_t done) {
          out_->progress("symbolize", done, all);
          return !out_->interrupted();
        });
    if (report.left_out != 0)
      out_->warning(fmt::format("{} samples are left out: there is no room for the names of their code",
                                report.left_out));
    const std::vector<ProfileRow>& rows = report.rows;
    const std::size_t shown = std::min(top_, rows.size());
    JsonList list([&](std::string_view text) { out_->write(text); });
    if (!json_) out_->line("{:>10} {:>7}  {}", "count", "percent", "function");
    for (std::size_t i = 0; i < shown && !out_->interrupted(); ++i) {
      if (json_)
        list.add(to_json(rows[i]));
      else
        print(rows[i]);
    }
    if (!json_) return out_->line("{} samples, {} rows", profile_.total(), rows.size());
    list.end();
    out_->write("\n");
  }

  void print_each(TextLines& in) {
    JsonList list([&](std::string_view text) { out_->write(text); });
    each_sample(in, [&](const symbols::Sample& sample) {
      const SampleOwner owner = owner_of(sample.address, sample.seconds);
      if (json_) {
        Json json;
        json["address"] = fmt::format("{:#x}", sample.address);
        add_owner(json, owner);
        list.add(json);
      } else {
        out_->line("{:#018x} {}", sample.address, text_of(owner));
      }
      return true;
    });
    if (!json_) return;
    list.end();
    out_->write("\n");
  }

  double percent(std::uint64_t count) const {
    return profile_.total() == 0 ? 0
                                 : 100.0 * static_cast<double>(count) / static_cast<double>(profile_.total());
  }

  static std::string text_of(const SampleOwner& owner) {
    std::string text = owner.module.empty() ? owner.function : owner.module + "`" + owner.function;
    if (owner.line != 0) text += fmt::format(" at {}:{}", file_name_of(owner.file), owner.line);
    return text;
  }

  void print(const ProfileRow& row) const {
    out_->line("{:>10} {:>6.2f}%  {}", row.count, percent(row.count), text_of(row.owner));
  }

  static void add_owner(Json& json, const SampleOwner& owner) {
    json["function"] = owner.function;
    if (!owner.module.empty()) json["module"] = owner.module;
    if (!owner.file.empty()) json["file"] = owner.file;
    if (owner.line != 0) json["line"] = owner.line;
  }

  Json to_json(const ProfileRow& row) const {
    Json json;
    json["count"] = row.count;
    json["percent"] = std::round(percent(row.count) * 1e4) / 1e4;
    add_owner(json, row.owner);
    return json;
  }

  SampleOwner owner_of(Address address, std::optional<double> seconds) {
    if (seconds && symbols_ != nullptr)
      if (const auto found = symbols_->find_at(address, *seconds)) return of_file(*found);
    if (session_ == nullptr) {
      const auto found = symbols_->find(address);
      return found ? of_file(*found) : unknown(address);
    }
    runtime::Answer answer = session_->runtime().resolve(address);
    session_->runtime().add_source(answer);
    if (const auto* method = std::get_if<MethodAnswer>(&answer.result)) {
      SampleOwner owner{.function = method->method.shown_name(), .module = method->method.module, .file = {}};
      if (method->source) {
        owner.file = method->source->file;
        owner.line = method->source->line;
      }
      return owner;
    }
    FrameRow row{.ip = address};
    session_->name_native(row, address);
    if (!row.symbol.empty()) return {.function = row.symbol, .module = row.module, .file = {}};
    if (const auto* miss = std::get_if<MissAnswer>(&answer.result); miss != nullptr && miss->method)
      return {.function = miss->text, .module = miss->method->module, .file = {}};
    SampleOwner owner = unknown(address);
    owner.module = row.module;
    return owner;
  }

  static SampleOwner of_file(const AddedName& found) {
    const auto cut = [](std::string_view text) {
      return std::string(cut_utf8(text, symbols::Profile::max_owner_name));
    };
    SampleOwner owner{.function = cut(found.function), .module = {}, .file = cut(found.file)};
    owner.line = found.line;
    return owner;
  }
  static SampleOwner unknown(Address address) {
    return {.function = fmt::format("{:#x}", address), .module = {}, .file = {}};
  }

  std::string file_;
  std::size_t top_ = max_top;
  bool each_ = false, json_ = false;

  Output* out_ = nullptr;
  Session* session_ = nullptr; // null: there is no process
  const AddedSymbols* symbols_ = nullptr;
  std::optional<AddedSymbols> own_symbols_;
  symbols::Profile profile_;
};

} // namespace

CommandSpec symbolize_command() {
  return {"symbolize",
          nullptr,
          "Name the addresses in a file and count them: a profile's report.",
          "clr symbolize samples.txt --top 20",
          "prints the 20 functions with the most samples.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Symbolize>(app); }};
}

} // namespace clr::lldb_plugin
