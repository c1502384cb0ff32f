// Where LLDB would set a breakpoint, before it does.
#pragma once

#include "extension/breakpoints/breakpoint_wish.h"
#include "extension/breakpoints/code_pages.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <vector>

namespace clr::lldb_plugin {

// By what LLDB tells of `breakpoint`.
BreakpointWish wish_of(lldb::SBBreakpoint& breakpoint);

// Code in which LLDB would plant what `wish` asks for, as far as it knows it: whole functions, as a prologue
// may end on another page than it begins; of a line its places. Of a line without a file the selected frame's
// file is meant; of a pattern nothing is known (jitted_code_of). At most max_places. Cost: LLDB's own search.
std::vector<CodeSpan> places_of(lldb::SBTarget& target, const BreakpointWish& wish);

// The jitted bodies of which a name matches the pattern of `wish`, whether LLDB was told of them or not. LLDB
// itself is not asked, because it takes minutes to list 50,000 functions. At most max_places; when there are
// so many, others are missing. Never throws because of the target. Cost: the names of all jitted code, some
// 10 microseconds for each.
std::vector<CodeSpan> jitted_code_of(Session& session, const BreakpointWish& wish);

constexpr std::size_t max_places = 10'000;

} // namespace clr::lldb_plugin
