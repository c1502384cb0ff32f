// Describes the runtime's stubs as code with names and unwind rules: precodes, dispatch stubs, jump stubs,
// shuffle thunks, the thunks of ReadyToRun images.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/execution/execution_manager.h"

#include <cstdint>
#include <span>
#include <vector>

namespace clr {

// Rows of straight-line stubs: what they push is followed; behind a jump or return the next stub begins.
// Instructions that are not known end it: the rest has the rule of a stub's entry. x64; other CPUs' stubs
// push nothing. No reads.
DebugUnwindRange stub_unwinding(const Platform& platform, std::span<const std::byte> code,
                                std::uint32_t size);

// One stretch of stubs of one kind, [begin, end): "[fixup precode]". `code` as far as it is known.
DebugCode stub_code(const Platform& platform, StubKind kind, Address begin, Address end,
                    std::span<const std::byte> code = {});

// The kind of the stubs of a range list section; unknown where the runtime does not tell. Throws Error as
// ExecutionManager::find does. Cost: that of find.
StubKind stub_kind_of_section(ExecutionManager& code, const RangeSection& section);

// Bytes of one block of stubs in a code heap; memory farther behind its start is not believed to be part of
// it.
constexpr std::uint64_t max_stub_block = 64 * 1024;

} // namespace clr
