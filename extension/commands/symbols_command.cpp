// clr symbols: files of names for what runtime memory does not name.
#include "core/memory/error.h"
#include "core/report/json.h"
#include "core/runtime/code_rows.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

namespace {

class Symbols final : public CommandRun {
public:
  explicit Symbols(CLI::App& app) {
    app.require_subcommand(1);
    add_ = app.add_subcommand(
        "add", "Use files: R2R perf maps, perf-PID.map, jitdumps, .nettrace, .sym tables, ELF files.");
    add_->add_option("FILE", files_, "A file; its content tells its kind.")->required();
    add_->add_option("--base", base_,
                     "The image whose table of RVAs the file is lies at this address, a number.")
        ->type_name("ADDRESS");
    add_count(*add_, "--process", process_, {1, UINT32_MAX},
              "Use the process of this id, of a trace of several.")
        ->type_name("ID");
    list_ = app.add_subcommand("list", "List the files in use and what they apply to.");
    add_json(*list_, json_);
    remove_ = app.add_subcommand("remove", "Use files no more.");
    remove_->add_option("FILE", files_, "A file as `clr symbols list` shows it; all by default.");
    save_ = app.add_subcommand("save",
                               "Write the managed code of the process, or a file in use, as a .sym table.");
    save_->add_option("FILE", saved_, "The table to write; a file that is there is replaced.")->required();
    save_->add_option("--from", from_, "Write the content of this file in use.")->type_name("FILE");
  }

  void run(Invocation& invocation) override {
    if (add_->parsed())
      add(invocation);
    else if (list_->parsed())
      list(invocation);
    else if (remove_->parsed())
      remove(invocation);
    else
      save(invocation);
  }

private:
  void add(Invocation& invocation) {
    std::vector<AddedSymbolFile> all = invocation.workspace().symbol_files();
    std::optional<Address> base;
    if (!base_.empty()) {
      base = parse_number(base_);
      if (!base)
        throw Error(
            ErrorKind::invalid_argument,
            fmt::format("--base takes an address as a number, such as 0x7f0000000000, not '{}'", base_));
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> told; // lines, and warnings to each
    bool traces = false;
    for (const std::string& path : files_) {
      std::vector<std::string> warnings;
      AddedSymbolFile file = open_symbol_file(path, process_, warnings, [&](std::uint64_t, std::uint64_t) {
        return !invocation.out.interrupted();
      });
      if (base && file.symbols->space() == SymbolSpace::process)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("--base is for a table of RVAs, and {} has addresses of the process", path));
      traces = traces || file.kind == SymbolFileKind::nettrace;
      file.base = base;
      std::erase_if(all, [&](const AddedSymbolFile& known) { return known.path == path; });
      told.emplace_back(fmt::format("{}: {}, {} entries", path, to_string(file.kind), file.symbols->size()),
                        std::move(warnings));
      all.push_back(std::move(file));
    }
    if (process_ && !traces)
      throw Error(ErrorKind::invalid_argument, "--process is for a trace (.nettrace), and no FILE is one");
    // Told when it is done: where one file is refused, none is used.
    invocation.workspace().set_symbol_files(std::move(all));
    for (const auto& [line, warnings] : told) {
      invocation.out.line("{}", line);
      for (const std::string& warning : warnings) invocation.out.warning(warning);
    }
  }

  // How the files apply to the selected process; null, with the reason, when it cannot be read.
  static const AddedSymbols* in_process(Invocation& invocation, std::string& why) {
    try {
      return invocation.session().runtime().symbols();
    } catch (const Error& error) {
      why = error.what();
      return nullptr;
    }
  }

  void list(Invocation& invocation) const {
    const std::vector<AddedSymbolFile>& files = invocation.workspace().symbol_files();
    std::string no_process;
    const AddedSymbols* const used = in_process(invocation, no_process);
    Json rows = Json::array();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const AddedSymbolFile& file = files[i];
      const AddedSymbols::Source* const source = used == nullptr ? nullptr : &used->sources()[i];
      const std::string where = source == nullptr          ? "not used: " + no_process
                                : !source->problem.empty() ? "not used: " + source->problem
                                : source->base != 0 ? fmt::format("{} at {:#x}", source->image, source->base)
                                                    : std::string("addresses of the process");
      if (!json_) {
        invocation.out.line("{}: {}, {} entries, {}", file.path, to_string(file.kind), file.symbols->size(),
                            where);
        continue;
      }
      Json row;
      row["path"] = file.path;
      row["kind"] = to_string(file.kind);
      row["entries"] = file.symbols->size();
      row["made_from"] = file.symbols->made_from();
      row["used"] = source != nullptr && source->problem.empty();
      if (source != nullptr && source->problem.empty()) row["base"] = fmt::format("{:#x}", source->base);
      if (source != nullptr && !source->image.empty()) row["image"] = source->image;
      const std::string& problem = source != nullptr ? source->problem : no_process;
      if (!problem.empty()) row["problem"] = problem;
      rows.push_back(std::move(row));
    }
    if (json_)
      invocation.out.line("{}", dump(rows));
    else if (files.empty())
      invocation.out.line("no symbol files");
  }

  void remove(Invocation& invocation) {
    std::vector<AddedSymbolFile> all = invocation.workspace().symbol_files();
    for (const std::string& path : files_)
      if (std::erase_if(all, [&](const AddedSymbolFile& known) { return known.path == path; }) == 0)
        throw Error(
            ErrorKind::invalid_argument,
            fmt::format("FILE '{}' is not in use; `clr symbols list` shows the files that are", path));
    if (files_.empty()) all.clear();
    invocation.workspace().set_symbol_files(std::move(all));
    invocation.out.line("{} symbol files in use", invocation.workspace().symbol_files().size());
  }

  void save(Invocation& invocation) {
    const std::string& path = saved_;
    const std::shared_ptr<const SymbolTable> table =
        from_.empty() ? of_process(invocation) : of_file(invocation);
    table->save(path);
    invocation.out.line("{}: {} entries", path, table->size());
  }

  std::shared_ptr<const SymbolTable> of_file(Invocation& invocation) const {
    for (const AddedSymbolFile& known : invocation.workspace().symbol_files())
      if (known.path == from_) return known.symbols;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--from '{}' is not in use; `clr symbols list` shows the files that are", from_));
  }

  static std::shared_ptr<const SymbolTable> of_process(Invocation& invocation) {
    Session& session = invocation.session();
    require_runtime(session.runtime());
    const std::uint64_t process = session.target().GetProcess().GetProcessID();
    SymbolTableBuilder builder(SymbolSpace::process, fmt::format("process {}", process),
                               fmt::format("{}", process));
    const auto holes = for_each_code_row(session.runtime(), [&](const symbols::MapRow& row) {
      builder.add(row.start, row.size, row.name);
      return !invocation.out.interrupted();
    });
    if (invocation.out.interrupted())
      throw Error(ErrorKind::invalid_argument, "interrupted; nothing is written");
    warn_of(invocation.out, holes);
    return builder.build();
  }

  CLI::App *add_, *list_, *remove_, *save_;
  std::vector<std::string> files_;
  std::string base_, from_, saved_;
  std::optional<std::uint64_t> process_;
  bool json_ = false;
};

} // namespace

CommandSpec symbols_command() {
  return {"symbols",
          nullptr,
          "Use, list or write files of symbols: names for what runtime memory does not name.",
          "clr symbols list",
          "lists the files in use.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Symbols>(app); }};
}

} // namespace clr::lldb_plugin
