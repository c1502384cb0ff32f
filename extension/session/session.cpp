#include "extension/session/session.h"

#include "core/memory/page_cache.h"
#include "core/objects/object_reader.h"
#include "core/runtime/core_session.h"
#include "core/runtime/symbol_answer.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/memory.h"
#include "extension/lldb/modules.h"
#include "extension/lldb/registers.h"
#include "extension/lldb/stack.h"
#include "extension/session/process_source.h"

#include <elf.h>
#include <fmt/format.h>

#include <map>

namespace clr::lldb_plugin {

namespace {

Address program_name_in(const std::map<std::uint64_t, std::uint64_t>& auxiliary) {
  const auto found = auxiliary.find(AT_EXECFN);
  return found == auxiliary.end() ? 0 : found->second;
}

// Everything through LLDB: a live process.
class LldbSession final : public Session {
public:
  LldbSession(lldb::SBTarget& target, const PathMap& paths, std::string source,
              std::vector<std::string> notes, std::shared_ptr<const DescriptorFile> descriptor)
      : Session(target, paths, {}, false), process_memory_(target.GetProcess()),
        local_(local_memory(target, process_memory_)), memory_(local_.get(), process_memory_),
        pages_(memory_, local_.get()),
        runtime_(pages_, modules_of(target), platform_of(target), nullptr, std::move(descriptor)),
        source_(std::move(source)), notes_(std::move(notes)) {}

  Runtime& runtime() override { return runtime_; }
  MemoryReader& memory() override { return pages_; }
  RegisterContext registers(lldb::SBThread& thread) override {
    return registers_of(thread, runtime_.platform().cpu);
  }
  void ran() override {
    Session::ran();
    pages_.clear();
    if (local_) local_->ran();
    if (ExecutionManager* code = runtime_.code()) code->forget();
    if (ObjectReader* objects = runtime_.objects()) objects->forget();
  }
  void written() override {
    pages_.clear();
    if (local_) local_->written();
  }
  Address program_name() override {
    if (!local_) return 0;
    lldb::SBProcess process = target().GetProcess();
    return program_name_in(auxiliary_vector(fmt::format("/proc/{}", process.GetProcessID())));
  }
  void drop_pages() override {
    if (local_) pages_.clear();
  }
  MemoryReport memory_report() override {
    return {.source = local_ ? source_ + " and the kernel" : source_,
            .pages_filled = pages_.pages(),
            .files = {},
            .refusals = {},
            .notes = notes_};
  }

private:
  SaveSource source() override { return process_source(target(), runtime_, pages_); }

  LldbMemory process_memory_;
  std::unique_ptr<ProcessMemory> local_; // null: all by LLDB
  DebuggedMemory memory_;
  PageCache pages_;
  Runtime runtime_;
  std::string source_;
  std::vector<std::string> notes_;
};

// A core file that we read ourselves.
class CoreFileSession final : public Session {
public:
  CoreFileSession(lldb::SBTarget& target, std::unique_ptr<ElfCore> core, const PathMap& paths,
                  std::shared_ptr<const DescriptorFile> descriptor)
      : Session(target, paths, RecordedNames(*core), true),
        session_(std::move(core), paths, std::move(descriptor)) {
    for (const ThreadRegisters& known : session_.core().threads())
      if (!known.values.empty()) registers_.try_emplace(known.os_id, &known);
  }

  Runtime& runtime() override { return session_.runtime(); }
  MemoryReader& memory() override { return session_.memory(); }
  std::string file_of(const LoadedModule& module) override { return session_.file_of(module); }
  std::shared_ptr<ByteRoom> file_room() const override { return session_.room(); }
  std::string executable_file() override { return session_.executable_file(); }
  Address program_name() override { return program_name_in(session_.core().notes().auxv); }
  RegisterContext registers(lldb::SBThread& thread) override {
    const Cpu cpu = session_.core().platform().cpu;
    const auto known = registers_.find(thread.GetThreadID());
    return known == registers_.end() ? registers_of(thread, cpu) : context_of_thread(cpu, *known->second);
  }
  MemoryReport memory_report() override { return clr::memory_report(session_); }

private:
  SaveSource source() override { return source_of(session_, paths()); }

  CoreSession session_;
  std::unordered_map<std::uint64_t, const ThreadRegisters*> registers_; // of the core, by the kernel's id
};

// Adds LLDB's own settings of where files lie.
PathMap with_search_paths(lldb::SBTarget& target, PathMap paths) {
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBStringList folders =
      lldb::SBDebugger::GetInternalVariableValue("target.exec-search-paths", debugger.GetInstanceName());
  for (std::uint32_t i = 0; i < folders.GetSize(); ++i) {
    const std::string folder = folders.GetStringAtIndex(i);
    if (folder.starts_with('/')) paths.directories.push_back(folder);
  }
  return paths;
}

} // namespace

StackReporter& Session::stacks() {
  if (!stacks_)
    stacks_ = std::make_unique<StackReporter>(
        runtime(), memory(), [this](FrameRow& row, Address lookup) { name_native(row, lookup); });
  return *stacks_;
}

HeapReporter& Session::heap() {
  if (!heap_) heap_ = std::make_unique<HeapReporter>(runtime());
  return *heap_;
}

LockReporter& Session::locks() {
  if (!locks_)
    locks_ = std::make_unique<LockReporter>(
        runtime(), [this]() -> WaitObjects& { return waits(); }, stacks(),
        [this] {
          std::vector<LockReporter::ThreadStart> starts;
          lldb::SBProcess process = target().GetProcess();
          for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
            lldb::SBThread thread = process.GetThreadAtIndex(i);
            const char* const name = thread.GetName();
            starts.push_back({.os_id = thread.GetThreadID(),
                              .index = thread.GetIndexID(),
                              .name = name == nullptr ? "" : name,
                              .registers = registers(thread)});
          }
          return starts;
        });
  return *locks_;
}

HeapHolders& Session::holders() {
  if (!holders_)
    holders_ = std::make_unique<HeapHolders>(runtime(), heap(), stacks(), [this] {
      std::vector<HeapHolders::ThreadStart> starts;
      lldb::SBProcess process = target().GetProcess();
      for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
        lldb::SBThread thread = process.GetThreadAtIndex(i);
        starts.push_back({thread.GetThreadID(), registers(thread)});
      }
      return starts;
    });
  return *holders_;
}

std::vector<ThreadTop> Session::thread_tops() {
  std::vector<ThreadTop> tops;
  lldb::SBProcess process = target().GetProcess();
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    tops.push_back({thread.GetThreadID(), registers(thread)});
  }
  return tops;
}

WaitObjects& Session::waits() {
  if (!waits_) waits_ = std::make_unique<WaitObjects>(runtime(), heap());
  return *waits_;
}

HeapRetainers& Session::retainers() {
  HeapHolders& of = holders();
  if (!retainers_) retainers_ = std::make_unique<HeapRetainers>(heap(), of);
  return *retainers_;
}

void Session::name_native(FrameRow& row, Address lookup) {
  if (recorded_.name(row)) return;
  name_native_frame(target_, row, lookup);
  if (!row.symbol.empty()) return;
  if (!symbols_) symbols_ = std::make_unique<NativeNames>(memory(), runtime().modules(), paths_, file_room());
  symbols_->name(row, lookup);
  if (row.symbol.empty() && runtime().symbols() != nullptr)
    row.symbol = symbol_text(*runtime().symbols(), lookup);
}

void Session::set_symbol_files(const std::vector<AddedSymbolFile>& files) {
  std::shared_ptr<const AddedSymbols> symbols;
  if (!files.empty())
    symbols = std::make_shared<const AddedSymbols>(files, [this] { return symbol_images(runtime()); });
  runtime().set_symbols(std::move(symbols));
  locks_.reset();
  retainers_.reset();
  holders_.reset();
  stacks_.reset(); // it keeps names
}

SaveSource Session::save_source() {
  SaveSource made = source();
  made.name_native = [this](FrameRow& row, Address lookup) { name_native(row, lookup); };
  return made;
}

std::unique_ptr<Session> open_session(lldb::SBTarget& target, const PdbSearch& search,
                                      std::shared_ptr<const DescriptorFile> descriptor) {
  lldb::SBProcess process = target.GetProcess();
  PdbSearch symbols = search;
  symbols.paths = with_search_paths(target, std::move(symbols.paths));
  std::unique_ptr<Session> session;
  if (!is_core(process)) {
    session = std::make_unique<LldbSession>(target, symbols.paths, "process, by LLDB",
                                            std::vector<std::string>{}, std::move(descriptor));
  } else if (CoreFile file = find_core_file(process); file.core) {
    session =
        std::make_unique<CoreFileSession>(target, std::move(file.core), symbols.paths, std::move(descriptor));
  } else {
    session = std::make_unique<LldbSession>(target, symbols.paths, "core, by LLDB",
                                            std::vector{std::move(file.note)}, std::move(descriptor));
  }
  if (SourceLines* lines = session->runtime().lines()) lines->set_search(std::move(symbols));
  return session;
}

} // namespace clr::lldb_plugin
