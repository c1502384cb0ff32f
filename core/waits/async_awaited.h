// What an async method waits for when it is no other method: a delay, a lock, a reply.
// Source of the fields: dotnet/runtime src/libraries/{System.Private.CoreLib,System.Threading.Channels,
// System.Net.Sockets,System.IO.Pipelines}.
#pragma once

#include "core/waits/async_graph.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace clr {

enum class AwaitedKind : std::uint8_t {
  unknown,
  running, // nothing: a thread runs the method
  ready,   // it is done; the method has not gone on yet
  yield,   // nothing: the method goes on when a thread takes it
  delay,
  semaphore,
  channel,
  completion_source, // a task that code completes which is not known
  when_all,
  when_any,
  task, // one that runs code, or is going to
  socket,
  pipe,
  timer,
  io,
  value_task_source,
  awaiter, // of a type of its own
};
std::string_view to_string(AwaitedKind kind); // "completion_source"

// What it says about the process that a method waits for this.
enum class AwaitUse : std::uint8_t {
  unknown,
  goes_on, // nobody keeps it waiting: it runs, or will as soon as a thread is free or a time is over
  idle,    // it waits for work: the next connection, item or tick
  owed,    // somebody owes it an answer or a signal
};

struct Awaited {
  AwaitedKind kind = AwaitedKind::unknown;
  std::string text;   // for people; the same for equal waits; cut to max_awaited_text
  Address object = 0; // the semaphore, the channel, the socket, the task...; 0: none is known
  AwaitUse use = AwaitUse::unknown;
  // When the wait began, in milliseconds of the system's clock (Environment.TickCount64); nothing: nobody
  // noted it.
  std::optional<std::uint64_t> since_ms = std::nullopt;
};

// "a SemaphoreSlim, for 00:00:01 at most (0x7f…)"; the text alone where no object is known.
std::string text_with_object(const Awaited& awaited);

class AwaitedReader {
public:
  // `graph` must outlive this. No reads.
  explicit AwaitedReader(AsyncGraph& graph) : graph_(&graph) {}

  // What the method in `box` waits for. Never throws: what cannot be read is AwaitedKind::unknown, and its
  // text says why. Cost: some 10 reads; for the first semaphore and channel a walk over the waiters of all of
  // them.
  Awaited of(const AsyncBox& box);

  static constexpr unsigned max_timer_wrappers = 4;            // timers that stand for another one
  static constexpr unsigned max_wrappers = 16;                 // tasks that only stand for another one
  static constexpr std::size_t max_awaited_text = 1'024;       // bytes; answers keep 300,000 of them
  static constexpr std::size_t max_listed_waiters = 4'000'000; // of all semaphores and channels

private:
  Awaited read(const AsyncBox& box);
  AwaitUse use_of(const Awaited& awaited);
  Awaited object(Address awaited, const AsyncBox& box);
  Awaited task(Address task, std::string_view name, std::string& suffix, Address& next);
  Awaited plain_task(Address task);
  Awaited delay(Address task);
  std::optional<std::uint64_t> set_at(Address timer);
  Address queue_timer(Address timer);
  Awaited semaphore(Address node);
  Awaited channel(Address operation, std::string_view name);
  Awaited socket(Address operation);
  Awaited periodic_timer(Address state);
  Awaited source(Address source, bool value_task);
  Awaited combination(Address task, bool all);
  // Notes for each object of a list which semaphore or channel it belongs to.
  void note(Address head, Address owner);
  void note_owners();
  bool is_accepted(Address socket);
  std::string end_point(Address object);
  std::string type_text(Address object);

  AsyncGraph* graph_;
  std::unordered_map<Address, Address> owners_; // by waiter
  bool owners_noted_ = false;
  std::unordered_map<Address, AwaitUse> combinations_; // WhenAll may have 100,000 parts, and as many waiters
};

} // namespace clr
