// Makes the line table of a body: joins its IL map with the sequence points of its symbols, so that a
// debugger steps through exactly the lines of the source.
#pragma once

#include "core/describe/body_description.h"
#include "core/describe/document_files.h"
#include "core/describe/source_files.h"
#include "core/metadata/portable_pdb.h"
#include "core/runtime/runtime.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

// The last of `points`, which ascend, that begins at or before an IL offset; null: none. Cost: logarithmic.
const SequencePoint* point_at(const std::vector<SequencePoint>& points, std::uint32_t il_offset);

// The sequence point that stands for the code at an IL offset.
struct LinePoint {
  const SequencePoint* own = nullptr;     // that of point_at()
  const SequencePoint* visible = nullptr; // the same without the hidden ones: what stack traces print
};

// The sequence points of a method, ascending.
class LinePoints {
public:
  explicit LinePoints(std::vector<SequencePoint> points);
  // Valid as long as this. Cost: logarithmic.
  LinePoint at(std::uint32_t il_offset) const;

private:
  std::vector<SequencePoint> points_;
  std::vector<std::uint32_t> visible_; // of each: how many there are up to the last that is not hidden
};

// Symbols of a Module of the runtime's were found; 0: no. Cost: once per module that of SourceLines::pdb_of.
bool has_symbols(Runtime& runtime, Address module);

class LineRows {
public:
  // Lines of the other methods of a type, for one constructor; the rest is not looked at.
  static constexpr std::size_t max_points_of_others = 1u << 16;

  // `runtime` must outlive this. No reads.
  explicit LineRows(Runtime& runtime) : runtime_(&runtime) {}

  // Symbols of the method's module were found. Cost: once per module that of SourceLines::pdb_of.
  bool has_symbols(const MethodFacts& method);

  // The method only starts a state machine, whose MoveNext is what somebody wrote. Throws Error as
  // PortablePdb does. Cost: that of has_symbols; once per module that of PortablePdb::kickoff_methods.
  bool starts_machine(const MethodFacts& method);

  // Fills the lines of the parts of a body. The prologue has the first line of the method, and the first row
  // of that line behind it is marked. Hidden code and code without IL have line 0, through which a debugger
  // steps; but hidden code that calls has the line before it in the source, which stack traces print. Rows
  // lie at instructions only: a part whose instructions are not known has one row, at its start. Throws
  // Error as DebugInfoReader::il_map and PortablePdb do. Cost: theirs, and that of DocumentFiles::may_name
  // for each document that is new.
  void add(std::vector<DescribedPart>& parts, const FoundBody& body, SourceFiles& files);

  // Sentences about source files that the lines do not name.
  std::vector<std::string> take_problems();

private:
  // See constructor_lines.h; 0 for all but constructors. Cost: once per constructor the points of all methods
  // of its type.
  std::uint32_t declaration_line_of(const UnspelledMethod& method, const PortablePdb& pdb);
  std::vector<SequencePoint> points_of_others(const UnspelledMethod& method, const PortablePdb& pdb);

  Runtime* runtime_;
  std::optional<DocumentFiles> documents_;                                  // made with the first lines
  std::unordered_map<Address, std::vector<std::uint32_t>> kickoffs_;        // by module
  std::map<std::pair<Address, std::uint32_t>, std::uint32_t> declarations_; // by module and token
};

} // namespace clr
