// The additional lines of a method's disassembly: IL offsets, source lines, and names of call targets.
#pragma once

#include "core/isa/code_reference.h"
#include "core/runtime/address_queries.h"
#include "core/runtime/runtime.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A position in the code: from this native offset on, the code belongs to this place.
struct ListingMark {
  std::uint64_t offset = 0; // bytes from the start of the hot part; the cold part follows it
  IlMark mark = IlMark::none;
  std::optional<SourceLine> source; // for mapped code; without a file when there are no symbols
};

// The marks of a body in the order of its code; neighbours with the same place are joined. Empty when the
// body has no IL map; `why` is the reason then. Never throws. Cost: that of DebugInfoReader::il_map, and of
// SourceLines once per module.
std::vector<ListingMark> listing_marks(Runtime& runtime, const CodeBlock& block, const Method& method,
                                       std::string& why);

// The target of a reference in code, with a name for people.
struct ReferenceName {
  std::string text; // "Ns.Type.Run(int)", "Ns.Type.Run(int) [fixup precode]", "libcoreclr.so`JIT_New"
  std::optional<Address> address; // of the target; for a cell, the address that the cell holds
  bool named = false;             // false: `text` says why it has no name
  bool thunk = false;             // shared code that jumps on to the real target
};

// The target of a reference. Nothing for a constant and for a loaded cell that does not lead to code, because
// most of these are data. Never throws. Cost: one read for a cell, and that of Runtime::resolve.
std::optional<ReferenceName> name_reference(Runtime& runtime, MemoryReader& memory,
                                            const CodeReference& reference, const NativeNamer& native);

// The bodies of a method, best first: the body that new calls reach comes before those that it replaced.
// Cost: that of Runtime::for_each_method.
std::vector<MethodRow> bodies_of(Runtime& runtime, const Method& method);

} // namespace clr
