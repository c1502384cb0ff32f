// Reads .nettrace files, format versions 4, 5 and 6, from the first byte to the last. The file is mapped and
// decoded while it is passed, so memory does not grow with the file: only tables are kept (event types,
// threads, stacks since the last sequence point), all with limits.
//
// Nothing in the file is trusted. Damaged parts are left out and counted in the report; the rest is used. An
// event with a torn header ends its block. A block whose size cannot be true ends where the next block begins
// in versions 4 and 5, and ends the file in version 6, whose blocks have no mark. A file that was cut (the
// process died, the disk was full) is used up to its last complete event. Reading ends when too many parts
// are damaged (max_faults).
#pragma once

#include "core/memory/mapped_file.h"
#include "core/symbols/malformed.h"
#include "core/symbols/net_trace_event.h"

namespace clr {

class TraceVisitor {
public:
  virtual ~TraceVisitor() = default;
  // Whether to visit events of this type. Called once for every row of the metadata table. Of a type that is
  // not wanted nothing is kept.
  virtual bool wants(const symbols::EventType&) { return true; }
  // Events come in the order of the file: those of one thread in the order of their times, those of different
  // threads not. False ends the reading.
  virtual bool event(const TraceEvent& event) = 0;
  // Called after each block, and within large ones, with the number of bytes read and the size of the file.
  // False ends the reading.
  virtual bool progress(std::uint64_t, std::uint64_t) { return true; }
};

// How much of a file could be used.
struct TraceReport {
  bool complete = false; // the file has its end mark; else it was cut, or damage hides the mark
  bool stopped = false;  // by the visitor
  std::uint64_t events = 0, visited = 0;
  std::uint64_t dropped = 0;        // events that the writer lost, by the gaps in their numbers
  std::uint64_t skipped_blocks = 0; // blocks of unknown kinds
  symbols::Malformed malformed;     // places are file offsets
};

class NetTrace {
public:
  // Maps the file and reads its header. Throws Error{io}; Error{corrupt} when it is no nettrace file or ends
  // within its header; Error{unsupported_contract} for a version that is not 4 to 6.
  static NetTrace open(const std::string& path);
  // The same over bytes, which must outlive it; `name` is for messages.
  static NetTrace of_bytes(std::span<const std::byte> bytes, std::string name);
  // Whether these first bytes of a file (16 are enough) belong to a nettrace file of any version.
  static bool recognises(std::span<const std::byte> first);

  const std::string& name() const { return name_; }
  const TraceInfo& info() const { return info_; }

  // Reads the whole file once. Never throws because of the file's contents; exceptions of the visitor pass
  // through. Cost: below 100 ns for an event that the visitor does not want.
  TraceReport read(TraceVisitor& visitor) const;

  static constexpr std::size_t max_event_types = 1u << 20; // rows of metadata; a runtime has some hundreds
  static constexpr std::size_t max_threads = 1u << 20;
  static constexpr std::size_t max_label_lists = 1u << 20; // between two sequence points
  static constexpr std::size_t max_properties = 1u << 12;
  // Fields of the types that are wanted. Some hundreds of types have some ten fields each.
  static constexpr std::size_t max_fields = 1u << 18;
  // Between two sequence points, which a runtime writes after 10 MB of events: blocks of stacks, of some
  // 100 KB each, and stacks that events name.
  static constexpr std::size_t max_stack_runs = 1u << 16;
  static constexpr std::size_t max_stacks = 1u << 20;
  // Rows, events and blocks that end too early or contradict themselves. Each of them takes microseconds, and
  // damage makes some of them; a file with this many is something else.
  static constexpr std::size_t max_faults = 1u << 17;

private:
  NetTrace(MappedFile file, std::span<const std::byte> bytes, std::string name);
  void read_header();

  MappedFile file_;
  std::span<const std::byte> bytes_;
  std::string name_;
  TraceInfo info_;
  std::size_t first_block_ = 0; // file offset
};

} // namespace clr
