// Return addresses that the runtime overwrites with its trampoline to suspend a thread when a method returns.
// Source: dotnet/runtime src/coreclr/vm/threadsuspend.cpp (Thread::HijackReturnAddress), vm/threads.h.
#pragma once

#include "core/stack/threads.h"
#include "core/target/target.h"

#include <functional>
#include <optional>

namespace clr {

// The thread is marked: one of its return addresses is the trampoline's. No reads.
inline bool is_hijacked(const RuntimeThread& thread) {
  return thread.state && (*thread.state & thread_state::return_address_hijacked) != 0;
}

// The original of the return address that was read from `slot`: the Thread keeps it beside the address of the
// slot that it overwrote, and the pair is found by that; stale pairs of earlier hijacks name another slot.
// Nothing when it has no such pair with managed code. Cost: 1 read, and those of `is_managed`.
std::optional<Address> hijacked_return_address(const Target& target, const RuntimeThread& thread,
                                               Address slot, const std::function<bool(Address)>& is_managed);

// A return address that was overwritten, and where.
struct Hijack {
  Address slot = 0, original = 0;
};

// The pair that the Thread at `thread`, which is marked, keeps, when its slot lies in [first, end) of the
// stack. Cost: 1 read, and those of `is_managed`.
std::optional<Hijack> hijack_within(const Target& target, Address thread, Address first, Address end,
                                    const std::function<bool(Address)>& is_managed);

} // namespace clr
