// The runtime's Thread list. Source: dotnet/runtime docs/design/datacontracts/Thread.md;
// src/coreclr/vm/threads.h.
#pragma once

#include "core/target/target.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

// One Thread of the runtime. Values that could not be read are empty; `fault` says why.
struct RuntimeThread {
  Address address = 0;
  std::optional<std::uint32_t> managed_id;
  // Kernel thread id; 0 for a thread that has ended but is still listed or was never started.
  std::optional<std::uint64_t> os_id;
  // The managed Thread's name; nothing: none set or not readable. From .NET 11 on the layout of the object
  // is known from its metadata alone, and the caller of read_threads adds the name.
  std::optional<std::string> name;
  std::optional<std::uint32_t> state;
  std::optional<bool> cooperative;    // GC mode: true = cooperative
  Address frame = 0;                  // head of the explicit Frame chain; 0 when it could not be read
  Address exception_tracker = 0;      // newest ExInfo
  Address last_thrown = 0;            // object of LastThrownObject; 0 none
  Address managed_object = 0;         // its System.Threading.Thread; 0: none, or it could not be read
  std::optional<Address> stack_base;  // highest address, exclusive
  std::optional<Address> stack_limit; // lowest address
  std::string fault;                  // what could not be read; empty when everything could
};

// Bits of RuntimeThread::state that a reader of stacks needs. [rt] vm/threads.h, Thread::ThreadState
namespace thread_state {
constexpr std::uint32_t return_address_hijacked = 0x80, background = 0x200, unstarted = 0x400, dead = 0x800;
} // namespace thread_state

// The words of "state" in JSON: "background", "unstarted", "dead", "threadpool_worker", ... in bit order.
std::vector<std::string> state_words(std::uint32_t state);

struct ThreadList {
  std::vector<RuntimeThread> threads; // in the order of the runtime's list
  std::string problem;                // why the list ends early (loop, torn link); empty when it is whole
};

// Reads the whole list. A torn list yields the threads before the tear and `problem`; a thread that cannot be
// read yields a row with `fault`. Throws Error{unsupported_contract} when the descriptor has no ThreadStore;
// Error{memory_missing} when the store itself cannot be read. An uninitialised runtime has no threads. Cost:
// about 8 reads a thread, cold.
ThreadList read_threads(const Target& target);

// Where the managed Thread object keeps what its name needs: bytes from the start of the object.
struct ManagedThreadFields {
  std::int64_t name = 0, runtime_thread = 0; // _name, _DONT_USE_InternalThread
};

// The name of the managed Thread object of `thread`; nothing when it has none. It is believed only when the
// object points back to the runtime's Thread. Throws Error. Cost: 4 reads.
std::optional<std::string> managed_thread_name(const Target& target, const RuntimeThread& thread,
                                               const ManagedThreadFields& fields);

// The object that an object handle (GCHandle) refers to; 0 when the handle is null.
Address object_of_handle(const Target& target, Address handle);

} // namespace clr
