// What stands between and behind the instructions of a method's disassembly: IL offsets, source lines, names
// of what is called.
#pragma once

#include "core/isa/code_reference.h"
#include "core/runtime/address_queries.h"
#include "core/runtime/runtime.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// From this native offset on the code belongs to one place.
struct ListingMark {
  std::uint64_t offset = 0; // bytes from the method's start, hot and cold parts linearised
  IlMark mark = IlMark::none;
  std::optional<SourceLine> source; // of mapped code; without a file when there are no symbols
};

// The marks of a body in the order of its code; neighbours of one place are one. Empty when the body has no
// IL map, and then `why` says why not. Never throws. Cost: that of DebugInfoReader::il_map, and of
// SourceLines once per module.
std::vector<ListingMark> listing_marks(Runtime& runtime, const CodeBlock& block, const Method& method,
                                       std::string& why);

// Where a reference leads, as a reader of the code would call it.
struct ReferenceName {
  std::string text;               // "Ns.Type.Run(int)", "precode (fixup) of ...", "libcoreclr.so`JIT_New"
  std::optional<Address> address; // of what it leads to: for a cell what the cell holds
  bool named = false;             // false: `text` says why it has no name
  bool thunk = false;             // code that many callers share to get elsewhere
};

// Nothing for a constant or a loaded cell that leads to no code: most are data. Never throws. Cost: a read
// for a cell, and that of Runtime::resolve.
std::optional<ReferenceName> name_reference(Runtime& runtime, MemoryReader& memory,
                                            const CodeReference& reference, const NativeNamer& native);

// The bodies of a method, best first: the one that new calls reach before those that it replaced. Cost: that
// of Runtime::for_each_method.
std::vector<MethodRow> bodies_of(Runtime& runtime, const Method& method);

} // namespace clr
