// Reads .nettrace files, format versions 4, 5 and 6, from the first byte to the last. The file is mapped and
// decoded as it is passed, so memory does not grow with it: what is kept are tables (event types, threads,
// stacks since the last sequence point), all with limits.
//
// Nothing in the file is trusted. What is damaged is left out, counted and told by the report; the rest is
// used: an event of which the header is torn ends its block; a block of which the size cannot be true ends,
// in versions 4 and 5, where the next one begins, and ends the file in version 6, whose blocks have no mark;
// a file that was cut (the process died, the disk was full) is used up to its last whole event.
#pragma once

#include "core/memory/mapped_file.h"
#include "core/symbols/malformed.h"
#include "core/symbols/net_trace_event.h"

namespace clr {

class TraceVisitor {
public:
  virtual ~TraceVisitor() = default;
  // Whether events of this type are to be visited. Asked once for every row of the metadata table.
  virtual bool wants(const EventType&) { return true; }
  // Events come in the order of the file: those of one thread in the order of their times, those of several
  // not. False ends the reading.
  virtual bool event(const TraceEvent& event) = 0;
  // After each block: bytes of the file that are read, and its size. False ends the reading.
  virtual bool progress(std::uint64_t, std::uint64_t) { return true; }
};

// How much of a file could be used.
struct TraceReport {
  bool complete = false; // the file has its end mark; else it was cut, or damage hides the mark
  bool stopped = false;  // by the visitor
  std::uint64_t events = 0, visited = 0;
  std::uint64_t dropped = 0;        // events that the writer lost, by the numbers of those that it wrote
  std::uint64_t skipped_blocks = 0; // of kinds that are not known
  Malformed malformed;              // places are file offsets
};

class NetTrace {
public:
  // Maps the file and reads its header. Throws Error{io}; Error{corrupt} when it is no nettrace file or ends
  // within its header; Error{unsupported_contract} for a version that is not 4 to 6.
  static NetTrace open(const std::string& path);
  // The same over bytes, which must outlive it; `name` is for messages.
  static NetTrace of_bytes(std::span<const std::byte> bytes, std::string name);
  // Whether these first bytes of a file (16 are enough) are those of a nettrace file of any version.
  static bool recognises(std::span<const std::byte> first);

  const std::string& name() const { return name_; }
  const TraceInfo& info() const { return info_; }

  // Passes the whole file once. Never throws for what the file holds, only what the visitor throws.
  // Cost: below 100 ns for an event that is not wanted.
  TraceReport read(TraceVisitor& visitor) const;

  static constexpr std::size_t max_event_types = 1u << 20; // rows of metadata; a runtime has some hundreds
  static constexpr std::size_t max_threads = 1u << 20;
  static constexpr std::size_t max_label_lists = 1u << 20; // between two sequence points
  static constexpr std::size_t max_properties = 1u << 12;

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
