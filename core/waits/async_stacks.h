// Which thread has an object on its stack. The object with which a thread waits for tasks is made for that
// wait, so its address is on no other stack but by accident.
#pragma once

#include "core/isa/registers.h"
#include "core/target/target.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

class AsyncGraph;

// Where a thread stands.
struct ThreadTop {
  std::uint64_t os_id = 0;
  RegisterContext registers;
};

struct StackPlace {
  std::uint64_t os_id = 0;
  Address at = 0; // the first word of the stack that holds it; 0: a register does
};

// The threads that have one of `wanted` in a register or in the first max_stack_bytes of their stacks, each
// with the first place of it; max_stack_places at most. Never throws: a stack that cannot be read holds
// nothing. Cost: 1 read for each page of a stack.
std::unordered_multimap<Address, StackPlace> find_on_stacks(const Target& target,
                                                            std::span<const ThreadTop> threads,
                                                            const std::unordered_set<Address>& wanted);

// Threads that have the task on their stacks whose last continuation is the box, for the continuations of all
// tasks; max_stack_places at most. Cost: that of find_on_stacks, once for all.
std::unordered_map<Address, std::vector<std::uint64_t>> find_task_holders(AsyncGraph& graph,
                                                                          std::span<const ThreadTop> threads);

// Of all threads together: all of them may have the same stack.
constexpr std::size_t max_stack_places = 2'000'000;
constexpr std::size_t max_stack_bytes = 256 * 1024; // of one thread

} // namespace clr
