// Async methods that wait for what somebody owes them, by the awaits at which they stand: for the question
// what is wrong with a process.
#pragma once

#include "core/runtime/async_report.h"
#include "core/runtime/awaited_names.h"
#include "core/runtime/lock_report.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// Chains whose first method of the user's stands at the same await, for the same kind of thing.
struct AwaitGroup {
  std::size_t count = 0;
  std::size_t requests = 0;                      // of them those that handle a request of ASP.NET's server
  std::shared_ptr<const AwaitPosition> position; // never null
  Awaited waits_for;                             // `object` only when all wait for the same
  std::string name;                              // "Ns.Cache._gate": what code calls it; "" when not known
  // Who holds it: "thread #9 in Ns.Cache.Load() at Cache.cs:41:9, which waits for ..."; "" when not known. By
  // what code does behind the same await, so it is never certain.
  std::string holder;
};

// A chain of one stop, to be found again at another one.
struct ChainMark {
  std::uint64_t place = 0; // equal when the same methods at the same addresses wait for the same
  std::uint64_t kind = 0;  // equal when such methods wait for such a thing
};

constexpr std::string_view knot_link = ", for which waits ";

struct AsyncWaiting {
  std::vector<AwaitGroup> groups; // that are owed something, the largest first
  std::vector<AwaitGroup> others; // of many chains each, which wait for work or a time
  std::size_t owed = 0;           // chains of `groups`
  std::size_t requests = 0;       // of them
  // Methods that wait for each other, one text for each knot, with knot_link between its methods. A method
  // without one waits for itself.
  std::vector<std::string> knots;
  std::vector<ChainMark> marks; // of the chains of `groups`
  std::size_t unreadable = 0;   // methods and tasks
  bool left_out = false;
};

class AsyncWaits {
public:
  // Both must outlive this, and the table of `locks` must have been read. No reads.
  AsyncWaits(AsyncReporter& async, LockReporter& locks) : async_(&async), locks_(&locks) {}

  // Throws as AsyncReporter::stacks does. Cost: that of it, and 1 read for each chain; for the largest groups
  // that of AwaitedNames.
  AsyncWaiting read(const HeapWalkOptions& options = {});

  static constexpr std::uint32_t max_compared_bytes = 4096; // of a method's variables, for its ChainMark
  static constexpr std::size_t max_named = 10;              // groups whose objects are named
  static constexpr std::size_t many = 10; // chains that are told, though nobody owes them anything

private:
  struct Group;
  AwaitUse use_of(const AsyncStack& stack, std::size_t user) const;
  bool ends_in_main_thread(const AsyncStack& stack) const;
  bool waits_as_worker(const Group& group) const;
  ChainMark mark(const AsyncChain& chain, const AsyncStack& stack) const;
  void name(Group& group, AwaitedNames& names, const HeapWalkOptions& options);
  std::string holder(const Group& group, AwaitedNames& names, const AwaitedName& name);
  std::string holder_text(const AsyncBox& box);
  std::optional<std::uint64_t> thread_that_runs(const AsyncBox& box);

  AsyncReporter* async_;
  LockReporter* locks_;
  AsyncGraph* graph_ = nullptr;
};

} // namespace clr
