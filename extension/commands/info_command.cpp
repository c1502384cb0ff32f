// clr info: the runtime, how it was found, what is read through, where memory came from.
#include "core/memory/output_file.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

std::string text_of_count(const std::optional<std::size_t>& count) {
  return count ? fmt::format("{}", *count) : "not known";
}

class Info final : public CommandRun {
public:
  explicit Info(CLI::App& app) {
    app.add_flag("-m,--modules", modules_,
                 "List every module, not only how many there are. JSON always does.");
    app.add_flag("-v,--verbose", verbose_, "List supplements and files too. JSON always does.");
    app.add_option("--save-descriptor", save_,
                   "Write the data descriptor that the runtime publishes to FILE, for clr settings "
                   "--descriptor. A file that is there is replaced.")
        ->type_name("FILE");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    if (!save_.empty()) save(invocation.out, session.runtime().record_descriptor());
    const RuntimeInfo info = session.runtime().info();
    const MemoryReport memory = session.memory_report();
    if (json_) {
      Json json = to_json(info);
      if (session.runtime().absence() != nullptr) json["absent"] = absence_text(session.runtime());
      json["memory"] = to_json(memory);
      invocation.out.line("{}", dump(json));
      return;
    }
    print(invocation.out, session, info);
    print(invocation.out, memory);
  }

private:
  void save(Output& out, const DescriptorFile& descriptor) const {
    OutputFile file(save_, Readers::everyone);
    file.write(write_descriptor_file(descriptor));
    file.commit();
    if (!json_) out.line("{}: the descriptor, {} pointers", save_, descriptor.pointers.size());
  }

  void print(Output& out, Session& session, const RuntimeInfo& info) const {
    if (session.runtime().absence() != nullptr) {
      out.line("runtime:         {}", absence_text(session.runtime()));
    } else {
      out.line("runtime:         {} {} ({} {})", info.name,
               info.version.empty() ? "(version not known)" : info.version, info.os, info.cpu);
    }
    if (info.descriptor != 0)
      out.line("descriptor:      {:#x} in {} ({})", info.descriptor, info.found_in, info.found_by);
    else if (!info.found_by.empty())
      out.line("descriptor:      {}, for {}", info.found_by, info.found_in);
    print_contracts(out, info);
    if (!info.supplements.empty()) {
      out.line("supplements:     {} layouts that the descriptor is silent about", info.supplements.size());
      if (verbose_)
        for (const Supplement& row : info.supplements)
          out.line("  {}.{} = {} ({})", row.type, row.field == "!" ? "size" : row.field, row.value,
                   row.source);
    }
    if (session.runtime().absence() == nullptr) print_counts(out, info);
    for (const std::string& problem : info.problems) out.line("problem:         {}", problem);
  }

  static void print_contracts(Output& out, const RuntimeInfo& info) {
    std::string used, unused, absent;
    for (const ContractInfo& contract : info.contracts) {
      std::string& list = contract.version.empty() ? absent : contract.used ? used : unused;
      if (!list.empty()) list += ", ";
      list += contract.version.empty() ? contract.name : contract.name + " " + contract.version;
      if (contract.used && !contract.known && !contract.version.empty()) list += " (not known)";
    }
    if (!used.empty()) out.line("contracts used:  {}", used);
    if (!unused.empty()) out.line("not used:        {}", unused);
    if (!absent.empty()) out.line("not listed:      {}", absent);
  }

  void print_counts(Output& out, const RuntimeInfo& info) const {
    out.line("range sections:  {}", text_of_count(info.range_sections));
    out.line("code heaps:      {}", text_of_count(info.code_heaps));
    out.line("jitted methods:  {}", text_of_count(info.jitted_methods));
    out.line("R2R functions:   {}", text_of_count(info.r2r_functions));
    std::size_t r2r = 0;
    for (const ModuleDescription& module : info.modules) r2r += module.r2r ? 1 : 0;
    out.line("modules:         {}, {} of them ReadyToRun", info.modules.size(), r2r);
    if (!modules_) return;
    for (const ModuleDescription& module : info.modules)
      out.line("  {:#018x} {:<4} {:>7} {}", module.base,
               module.composite ? "comp"
               : module.r2r     ? "r2r"
                                : "il",
               module.method_count ? fmt::format("{}", *module.method_count) : "?",
               module.path.empty() ? module.name : module.path);
  }

  void print(Output& out, const MemoryReport& memory) const {
    out.line("memory:          {}, {} pages read", memory.source, memory.pages_filled);
    if (!memory.files.empty())
      out.line("  files:         {} stand in for pages that the core lacks", memory.files.size());
    if (verbose_)
      for (const std::string& file : memory.files) out.line("  file:          {}", file);
    for (const std::string& file : memory.refusals) out.line("  not taken:     {}", file);
    for (const std::string& note : memory.notes) out.line("  note:          {}", note);
  }

  std::string save_;
  bool verbose_ = false, modules_ = false, json_ = false;
};

} // namespace

CommandSpec info_command() {
  return {"info",
          nullptr,
          "Describe the runtime of the process: its version, its contracts, its code, and where memory came "
          "from.",
          "clr info --modules",
          "describes the runtime and lists its modules.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Info>(app); }};
}

} // namespace clr::lldb_plugin
