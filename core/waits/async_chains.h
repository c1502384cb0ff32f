// Chains of async methods: the one that waits for something else than a method, and those that wait for it,
// up to the one that nobody waits for.
#pragma once

#include "core/waits/async_graph.h"

#include <vector>

namespace clr {

struct AsyncChain {
  enum class End : std::uint8_t {
    nobody,     // no method and no thread waits for the last one
    async_void, // the last one is async void: none can
    thread,     // a thread waits for it: `blocker`
    loops,      // it waits for one of the chain
    limit,      // it is longer than max_chain
  };
  std::vector<const AsyncBox*> boxes; // the one that waits for something else first
  End end = End::nobody;
  Address blocker = 0;       // the object with which a thread waits
  bool no_beginning = false; // all of its methods wait for methods: they wait for each other
};

struct AsyncChains {
  std::vector<AsyncChain> chains; // by the addresses of their first boxes
  bool left_out = false;          // there are more than the limits allow
};

// The chains of all boxes that wait; those that run begin a chain when others wait for them. Cost: no reads,
// but those of the kinds of tasks. Throws nothing.
AsyncChains async_chains(AsyncGraph& graph);

// Those that begin with `box`, whether it waits or runs.
AsyncChains async_chains_from(AsyncGraph& graph, const AsyncBox& box);

// Calls `visit` with the boxes that go on when `object` is done, directly or by tasks between them, and with
// objects that a thread waits with. Looks at max_between objects at most, and at as many as `left` says,
// which it counts down.
void for_each_next(AsyncGraph& graph, Address object, std::size_t& left,
                   const std::function<void(Address next, const AsyncBox* box)>& visit);

constexpr std::size_t max_chain = 10'000;            // methods of one chain
constexpr std::size_t max_chains_of_one = 1'000;     // chains that begin with the same method
constexpr std::size_t max_chains = 4'000'000;        // all of them
constexpr std::size_t max_chain_frames = 32'000'000; // of all of them
// Few methods can make many long chains, and stand behind the same hundred thousand tasks: what all of them
// together may have is this many, and 64 for each method.
constexpr std::size_t max_shared_frames = 1'000'000;  // of all chains
constexpr std::size_t max_shared_between = 2'000'000; // tasks that are looked at for all methods
constexpr std::size_t max_between = 100'000;          // tasks between one method and those that wait for it

} // namespace clr
