// One target at one stop: its memory, its modules, its runtime.
#pragma once

#include "core/memory/path_map.h"
#include "core/report/memory_report.h"
#include "core/report/save_core.h"
#include "core/runtime/added_symbols.h"
#include "core/runtime/core_session.h"
#include "core/runtime/heap_holders.h"
#include "core/runtime/heap_retainers.h"
#include "core/runtime/lock_report.h"
#include "core/runtime/native_names.h"
#include "core/runtime/runtime.h"
#include "core/runtime/source_lines.h"
#include "core/runtime/stack_reporter.h"
#include "core/runtime/wait_objects.h"
#include "core/waits/async_stacks.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

class Session {
public:
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  virtual Runtime& runtime() = 0;
  virtual MemoryReader& memory() = 0;
  virtual MemoryReport memory_report() = 0;
  // The file on this host of a native module of a core that we read ourselves; empty when none is proven, and
  // for other processes, whose modules LLDB finds.
  virtual std::string file_of(const LoadedModule&) { return {}; }
  // The same of the program itself.
  virtual std::string executable_file() { return {}; }
  // Where the kernel put the name of the program, above its environment (AT_EXECFN); 0: not known.
  virtual Address program_name() { return 0; }
  // Registers of a thread; unknown ones are those that neither the core file nor LLDB has.
  virtual RegisterContext registers(lldb::SBThread& thread) = 0;
  // Stacks of this stop, made on first use.
  StackReporter& stacks();
  // The managed heap of this stop, found on first use, and who holds what in it. Throws as HeapReporter does.
  HeapReporter& heap();
  HeapHolders& holders();
  // What would go with what, of the same heap.
  HeapRetainers& retainers();
  // Locks and waits of this stop, read on first use.
  LockReporter& locks();
  // The objects of this stop that tell who waits for whom. Throws as HeapReporter does.
  WaitObjects& waits();
  // Where the threads of this stop stand.
  std::vector<ThreadTop> thread_tops();
  // Names native code: as a minimal core recorded it, else by LLDB, else by the symbol tables.
  void name_native(FrameRow& row, Address lookup);
  // The source of `clr savecore`; valid while the session is. Throws Error when it cannot be had.
  SaveSource save_source();
  lldb::SBTarget& target() { return target_; }
  // Its memory never changes.
  bool is_of_core() const { return is_of_core_; }

  // What `make` says of the object at `address`. Of a core it is asked once: stacks show the same objects
  // again and again. Objects of a live process change also while it stands, by expressions.
  template<typename Make>
  std::string text_of(Address address, const Make& make) {
    if (!is_of_core_) return make();
    if (const auto known = texts_.find(address); known != texts_.end()) return known->second;
    std::string text = make();
    if (texts_.size() >= max_texts) texts_.clear();
    return texts_.insert_or_assign(address, std::move(text)).first->second;
  }
  static constexpr std::size_t max_texts = 1'024;

  // The process ran a little and stands again: what was read of its memory and of the whereabouts of code is
  // forgotten, names are kept. Wrong for methods whose MethodDesc was used again, as those of dynamic methods
  // are.
  virtual void ran() {
    forget_heap();
    stacks_.reset();
  }

  // Somebody may have written to the process's memory while it stands: what was read of it is forgotten.
  virtual void written() {}

  // Gives back the pages that a walk over all code has read, where reading them again costs next to nothing.
  virtual void drop_pages() {}

  // Symbol files to ask where runtime memory names nothing.
  void set_symbol_files(const std::vector<AddedSymbolFile>& files);

  // Where on this host the target's files may be.
  const PathMap& paths() const { return paths_; }

protected:
  Session(lldb::SBTarget target, PathMap paths, RecordedNames recorded, bool is_of_core)
      : target_(std::move(target)), paths_(std::move(paths)), recorded_(std::move(recorded)),
        is_of_core_(is_of_core) {}

private:
  virtual SaveSource source() = 0;
  // What is read of files that a core names counts there; null for a live process.
  virtual std::shared_ptr<ByteRoom> file_room() const { return nullptr; }
  void forget_heap() {
    locks_.reset();
    waits_.reset();
    retainers_.reset();
    holders_.reset();
    heap_.reset();
  }

  lldb::SBTarget target_;
  PathMap paths_;
  RecordedNames recorded_;
  std::unique_ptr<NativeNames> symbols_;
  std::unique_ptr<StackReporter> stacks_;
  std::unique_ptr<HeapReporter> heap_;
  std::unique_ptr<HeapHolders> holders_;     // of heap_ and stacks_
  std::unique_ptr<HeapRetainers> retainers_; // of holders_
  std::unique_ptr<WaitObjects> waits_;       // of heap_
  std::unique_ptr<LockReporter> locks_;      // of waits_ and stacks_
  bool is_of_core_;
  std::unordered_map<Address, std::string> texts_; // by object
};

// A live process is read through LLDB. A core file is opened by ourselves, because LLDB pads a segment whose
// end the file lacks with zeroes; when the file cannot be determined, LLDB's reading is taken and the report
// says so. The process must be stopped. Throws Error when the core cannot be read at all.
std::unique_ptr<Session> open_session(lldb::SBTarget& target, const PdbSearch& search,
                                      std::shared_ptr<const DescriptorFile> descriptor);

} // namespace clr::lldb_plugin
