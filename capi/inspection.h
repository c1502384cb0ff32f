// One process or core at one stop, whatever its source. The C functions work with it.
#pragma once

#include "core/report/memory_report.h"
#include "core/report/save_core.h"
#include "core/runtime/heap_retainers.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stack_reporter.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace clr::capi {

// The process is no longer at the stop at which it was opened.
class Stale : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// The thread at which to look first.
struct FirstThread {
  unsigned index = 0; // as in threads()
  std::uint64_t os_id = 0;
  std::string why;   // "it had the signal"
  std::string crash; // which thread failed, how and why, as crash_text() says it; empty: none did
};

class Inspection {
public:
  Inspection() = default;
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;
  virtual ~Inspection() = default;

  // Calls `act` while no other thread works with this process. Throws what `act` throws, and Error when that
  // cannot be had now. Who is inside may come in again.
  virtual void in_turn(const std::function<void()>& act) { act(); }
  // Throws Stale when the process has run or is gone. No reads.
  virtual void require_current() = 0;
  virtual Runtime& runtime() = 0;
  virtual MemoryReader& memory() = 0;
  virtual StackReporter& stacks() = 0;
  // The threads in the order of the debugger or core, with the names that the system gives them.
  virtual std::vector<ThreadRow> threads() = 0;
  // The thread that failed, else the first with an exception in flight, else the selected one; nothing when
  // there is no thread.
  virtual std::optional<FirstThread> first_thread() = 0;
  virtual std::uint64_t process_id() = 0; // 0: not known
  // Where the kernel put the name of the program, above its environment (AT_EXECFN); 0: not known.
  virtual Address program_name() = 0;
  // Throws Error{invalid_argument} when there is no such thread.
  virtual StackReporter::End walk(std::uint64_t os_id, const StackReporter::Options& options,
                                  const std::function<bool(const FrameRow&)>& visit) = 0;
  // The registers of a thread. Throws Error{invalid_argument} when there is no such thread, or when they are
  // not known.
  virtual RegisterContext registers(std::uint64_t os_id) = 0;
  // The managed heap of this stop, who holds what in it, and what would go with what: found on first use, and
  // kept. Need a runtime. Throw as HeapReporter does.
  virtual HeapReporter& heap() = 0;
  virtual HeapHolders& holders() = 0;
  virtual HeapRetainers& retainers() = 0;
  // "libc.so.6`read + 18"; empty when no name is known.
  virtual std::string symbol_at(Address address) = 0;
  virtual MemoryReport memory_report() = 0;
  virtual SaveSource save_source() = 0;
  // Gives the debugger all managed code, and returns when it has it. Throws Error{unsupported_contract} where
  // there is no debugger, Error{invalid_argument} when the user wants nothing published, Error{interrupted}.
  virtual void publish() = 0;
};

// An inspection as handles share it: nobody gets at it out of turn.
class SharedInspection {
public:
  explicit SharedInspection(std::shared_ptr<Inspection> shared) : shared_(std::move(shared)) {}

  // Calls `act` with it, in turn, wherever the process is.
  template<typename Act>
  void enter(const Act& act) const {
    shared_->in_turn([&] { act(*shared_); });
  }
  // The same while the process is where it was; throws Stale when it is not.
  template<typename Act>
  void visit(const Act& act) const {
    enter([&](Inspection& inspection) {
      inspection.require_current();
      act(inspection);
    });
  }

private:
  std::shared_ptr<Inspection> shared_;
};

// Opens a core file without a debugger. `options` as for clr_open_core. Throws Error{io, corrupt} as
// CoreSession::open does, Error{invalid_argument} for invalid options.
std::shared_ptr<Inspection> open_core(const std::string& path, const char* options);

// Opens the process of a debugger, as clr_open_process does. libclr.so knows no debugger and throws
// Error{unsupported_contract}. Throws Stale when the process no longer exists.
std::shared_ptr<Inspection> open_process(std::uint64_t debugger, std::uint32_t target, std::uint32_t process);
bool debugger_known(std::uint64_t debugger);

} // namespace clr::capi
