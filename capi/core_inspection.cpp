#include "capi/inspection.h"
#include "core/report/crash_text.h"
#include "core/report/exception_report.h"
#include "core/report/stop_signal.h"
#include "core/runtime/added_symbols.h"
#include "core/runtime/core_session.h"
#include "core/runtime/native_names.h"
#include "core/runtime/source_lines.h"
#include "core/runtime/symbol_answer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <elf.h>
#include <unordered_map>

namespace clr::capi {

namespace {

struct CoreOptions {
  PdbSearch search;
  std::vector<std::string> symbol_files;
};

CoreOptions parse_options(const char* text) {
  CoreOptions options;
  if (text == nullptr) return options;
  try {
    const auto json = nlohmann::json::parse(text);
    for (const auto& [name, value] : json.items()) {
      if (name == "sysroot")
        options.search.paths.sysroot = value.get<std::string>();
      else if (name == "path_map")
        value.get_to(options.search.paths.prefixes);
      else if (name == "directories")
        value.get_to(options.search.paths.directories);
      else if (name == "symbols")
        value.get_to(options.search.places);
      else if (name == "symbol_files")
        value.get_to(options.symbol_files);
      else
        throw Error(ErrorKind::invalid_argument, fmt::format("there is no option '{}'", name));
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::invalid_argument, fmt::format("the options cannot be read: {}", error.what()));
  }
  return options;
}

class CoreInspection final : public Inspection {
public:
  CoreInspection(const std::string& path, CoreOptions options)
      : session_(CoreSession::open(path, options.search.paths)), paths_(options.search.paths),
        recorded_(session_->core()),
        names_(session_->memory(), session_->modules(), paths_, session_->room()),
        stacks_(session_->runtime(), session_->memory(),
                [this](FrameRow& row, Address lookup) { name_native(row, lookup); }) {
    if (SourceLines* lines = runtime().lines()) lines->set_search(std::move(options.search));
    std::vector<AddedSymbolFile> files;
    for (const std::string& file : options.symbol_files)
      files.push_back(open_symbol_file(file, std::nullopt, warnings_, {}));
    if (files.empty()) return;
    symbols_ = std::make_shared<const AddedSymbols>(files, [this] { return symbol_images(runtime()); });
    runtime().set_symbols(symbols_);
  }

  void require_current() override {}
  Runtime& runtime() override { return session_->runtime(); }
  MemoryReader& memory() override { return session_->memory(); }
  StackReporter& stacks() override { return stacks_; }

  std::vector<ThreadRow> threads() override {
    std::vector<ThreadRow> rows;
    for (const ThreadRegisters& thread : known_threads()) {
      ThreadRow row;
      row.index = static_cast<unsigned>(rows.size() + 1);
      row.os_id = thread.os_id;
      row.selected = rows.empty();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::optional<FirstThread> first_thread() override {
    const std::vector<ThreadRegisters>& threads = known_threads();
    if (threads.empty()) return std::nullopt;
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (says_that_it_failed(static_cast<std::uint64_t>(threads[i].signal))) {
        FirstThread first = thread_at(i, "it had the signal");
        first.crash = crash_of(first, threads[i].signal);
        return first;
      }
    if (runtime().absence() == nullptr) {
      ExceptionReporter exceptions(runtime());
      for (const RuntimeThread& known : stacks_.threads().threads) {
        const auto found = known.os_id ? numbers().find(*known.os_id) : numbers().end();
        if (found != numbers().end() && !exceptions.of_thread(known).in_flight.empty())
          return thread_at(found->second, "an exception is in flight on it");
      }
    }
    return thread_at(0, session_->core().threads().empty() ? "the first one that the runtime knows"
                                                           : "the first one: no thread failed");
  }

  std::uint64_t process_id() override { return session_->core().notes().process_id; }

  Address program_name() override {
    const auto& auxiliary = session_->core().notes().auxv;
    const auto found = auxiliary.find(AT_EXECFN);
    return found == auxiliary.end() ? 0 : found->second;
  }

  StackReporter::End walk(std::uint64_t os_id, const StackReporter::Options& options,
                          const std::function<bool(const FrameRow&)>& visit) override {
    return stacks_.walk(registers(os_id), os_id, options, visit);
  }

  RegisterContext registers(std::uint64_t os_id) override {
    const auto found = numbers().find(os_id);
    if (found == numbers().end())
      throw Error(ErrorKind::invalid_argument, fmt::format("the core has no thread with id {}", os_id));
    return context_of_thread(session_->core().platform().cpu, known_threads()[found->second]);
  }

  HeapReporter& heap() override {
    if (!heap_) heap_ = std::make_unique<HeapReporter>(runtime());
    return *heap_;
  }

  HeapHolders& holders() override {
    if (!holders_)
      holders_ = std::make_unique<HeapHolders>(runtime(), heap(), stacks_, [this] {
        std::vector<HeapHolders::ThreadStart> starts;
        for (const ThreadRegisters& thread : known_threads())
          starts.push_back({thread.os_id, context_of_thread(session_->core().platform().cpu, thread)});
        return starts;
      });
    return *holders_;
  }

  HeapRetainers& retainers() override {
    HeapHolders& of = holders();
    if (!retainers_) retainers_ = std::make_unique<HeapRetainers>(heap(), of);
    return *retainers_;
  }

  std::string symbol_at(Address address) override {
    FrameRow row;
    row.ip = address;
    names_.name(row, address);
    if (row.module.empty()) return {};
    return row.symbol.empty() ? row.module + row.position
                              : fmt::format("{}`{}{}", row.module, row.symbol, row.position);
  }

  MemoryReport memory_report() override {
    MemoryReport report = clr::memory_report(*session_);
    report.notes.insert(report.notes.end(), warnings_.begin(), warnings_.end());
    return report;
  }
  SaveSource save_source() override { return source_of(*session_, paths_); }
  void publish() override {
    throw Error(ErrorKind::unsupported_contract,
                "the core was opened without a debugger: there is nobody to publish its code to");
  }

private:
  // Those of the core. A core that was cut may have lost them (gdb writes them last): then those that the
  // runtime knows, without registers, and the walker begins at the runtime's own Frames.
  const std::vector<ThreadRegisters>& known_threads() {
    const std::vector<ThreadRegisters>& threads = session_->core().threads();
    if (!threads.empty() || runtime().absence() != nullptr) return threads;
    if (!lost_threads_) {
      lost_threads_.emplace();
      for (const RuntimeThread& thread : stacks_.threads().threads)
        if (thread.os_id.value_or(0) != 0)
          lost_threads_->push_back({.os_id = *thread.os_id, .values = {}, .signal = 0});
      warnings_.emplace_back("the core has lost its threads: those that the runtime knows are shown, without "
                             "registers");
    }
    return *lost_threads_;
  }

  // Where they stand in known_threads(), by their ids.
  const std::unordered_map<std::uint64_t, std::size_t>& numbers() {
    const std::vector<ThreadRegisters>& threads = known_threads();
    for (std::size_t i = numbers_.empty() ? 0 : threads.size(); i < threads.size(); ++i)
      numbers_.try_emplace(threads[i].os_id, i);
    return numbers_;
  }

  FirstThread thread_at(std::size_t i, std::string why) {
    return {.index = static_cast<unsigned>(i + 1),
            .os_id = known_threads()[i].os_id,
            .why = std::move(why),
            .crash = {}};
  }

  // In the words of LLDB, so that the plugin says the same of a core.
  std::string crash_of(const FirstThread& thread, int signal) {
    const std::string& name = session_->core().notes().name;
    const std::string how =
        fmt::format("thread #{}{}, stop reason = {}", thread.index,
                    name.empty() ? "" : fmt::format(", name = '{}'", name), signal_text(signal));
    if (runtime().absence() != nullptr) return how;
    return crash_text(runtime(), stacks_, registers(thread.os_id), thread.os_id, how);
  }

  void name_native(FrameRow& row, Address lookup) {
    if (recorded_.name(row)) return;
    names_.name(row, lookup);
    if (row.symbol.empty() && symbols_) row.symbol = symbol_text(*symbols_, lookup);
  }

  std::unique_ptr<CoreSession> session_;
  PathMap paths_;
  RecordedNames recorded_;
  NativeNames names_;
  StackReporter stacks_;
  std::unique_ptr<HeapReporter> heap_;
  std::unique_ptr<HeapHolders> holders_;     // of heap_ and stacks_
  std::unique_ptr<HeapRetainers> retainers_; // of holders_
  std::optional<std::vector<ThreadRegisters>> lost_threads_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<std::string> warnings_;
  std::shared_ptr<const AddedSymbols> symbols_;
};

} // namespace

std::shared_ptr<Inspection> open_core(const std::string& path, const char* options) {
  return std::make_shared<CoreInspection>(path, parse_options(options));
}

} // namespace clr::capi
