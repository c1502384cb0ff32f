// Amends the description of code that a fault interrupted, so that a debugger names, unwinds and inspects its
// frame right: see DebugInterruption.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/stack/interrupted_code.h"

#include <optional>

namespace clr {

// Enters in `code` that it was interrupted: its rows and lines at the instruction that failed hold for the
// byte before it too. Nothing when `interrupted` lies elsewhere. No reads.
void add_interruption(DebugBody& code, const InterruptedCode& interrupted);

// The byte before `code`, where a debugger looks for the frame when the first instruction failed; nothing
// when that was another. Its line and rows are those of `code`; the variables must be copied once
// they are there: copy_entry_variables. Behind add_interruption. No reads.
std::optional<DebugBody> code_before_entry(const DebugBody& code);
void copy_entry_variables(const DebugBody& code, DebugBody& before);

} // namespace clr
