// Where LLDB would set a breakpoint, before it does.
#pragma once

#include "extension/breakpoints/breakpoint_wish.h"

#include <lldb/API/LLDB.h>

#include <vector>

namespace clr::lldb_plugin {

// By what LLDB tells of `breakpoint`.
BreakpointWish wish_of(lldb::SBBreakpoint& breakpoint);

// Addresses at or near which LLDB would plant what `wish` asks for, as far as it knows them: for the pages
// that they lie in. Of a line without a file the selected frame's file is meant. At most max_places. Cost:
// LLDB's own search.
std::vector<Address> places_of(lldb::SBTarget& target, const BreakpointWish& wish);

constexpr std::size_t max_places = 10'000;

} // namespace clr::lldb_plugin
