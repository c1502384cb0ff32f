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

// Where a thread stands.
struct ThreadTop {
  std::uint64_t os_id = 0;
  RegisterContext registers;
};

struct StackPlace {
  std::uint64_t os_id = 0;
  Address at = 0; // the first word of the stack that holds it; 0: a register does
};

// The threads that have one of `wanted` in a register or in the first max_stack_bytes of their stacks. Never
// throws: a stack that cannot be read holds nothing. Cost: 1 read for each page of a stack.
std::unordered_multimap<Address, StackPlace> find_on_stacks(const Target& target,
                                                            std::span<const ThreadTop> threads,
                                                            const std::unordered_set<Address>& wanted);

constexpr std::size_t max_stack_bytes = 256 * 1024; // of one thread

} // namespace clr
