// Which of the places that a debugger finds for a source line are those where the line begins. A line may
// have several statements: the compiler gives what it adds behind a block (the end of a `using`, of a
// `foreach`) the line at which the block began, and what a loop does each time round that of its head.
#pragma once

#include "core/metadata/portable_pdb.h"
#include "core/runtime/runtime.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

// A place in compiled code at which a statement of a line begins.
struct StatementPlace {
  Address body = 0;                       // where its code begins; 0: nothing is known, and the place stays
  Address part = 0;                       // the function that holds it: the body, or one of its handlers
  std::optional<std::uint32_t> statement; // its IL offset; nothing: as above
  Address at = 0;
  std::uint32_t il = 0;  // of the place
  bool prologue = false; // the variables are not there yet
  // No other statement of the method on this line comes before it.
  bool first_of_line = false;
  // The body was entered in the middle of a loop: statements before that are not in it.
  bool entered_in_loop = false;
  // The type that the compiler has made of an iterator, where the method is its MoveNext (`machine`), or one
  // of its `finally` blocks (`part_of`), which MoveNext calls in the line at which the block began.
  std::string machine, part_of;
};

// The statement on `line` at `at`. Never throws. Cost: that of ExecutionManager::find, of a method's name, of
// DebugInfoReader::il_position and of the method's sequence points.
StatementPlace statement_place(Runtime& runtime, Address at, std::uint32_t line);

// Indices, ascending, of those of `places`, which are of one line, where the line has begun before: behind
// the first statement of their body, of which the JIT may have made a copy in a handler; of several places at
// the beginning of one function those but the one at which the variables are there. Each body counts for
// itself. No reads.
std::vector<std::size_t> later_statements(std::span<const StatementPlace> places);

// The statement of `line` that an IL offset is of, and whether it is the first of that line; nothing when it
// is of another line or of none. No reads.
struct StatementOfLine {
  std::uint32_t il = 0;
  bool first = false;
  bool operator==(const StatementOfLine&) const = default;
};
std::optional<StatementOfLine> statement_of_line(std::span<const SequencePoint> points, std::uint32_t il,
                                                 std::uint32_t line);

} // namespace clr
