// Decodes the contents of the blocks of a nettrace file. Private to core/symbols.
#pragma once

#include "core/memory/seeded_hash.h"
#include "core/symbols/net_trace_blocks.h"
#include "core/symbols/net_trace_metadata.h"

#include <map>
#include <unordered_map>

namespace clr {

namespace symbols {

// The header of an event, or of a metadata event of versions 4 and 5. With compression, each header is
// written as the difference to the one before, and every block starts from zeroes.
struct EventHeader {
  std::uint32_t metadata_id = 0, sequence = 0, processor = 0, stack_id = 0, labels_id = 0, payload_size = 0;
  std::uint64_t capture_thread = 0, thread = 0; // ids of the OS; in version 6 indexes
  TraceTime time = 0;
};

} // namespace symbols

class TraceDecoder {
public:
  // `size` of the file, in bytes.
  TraceDecoder(const TraceInfo& info, std::uint64_t size, TraceVisitor& visitor, TraceReport& report)
      : info_(info), size_(size), visitor_(visitor), report_(report) {}

  // False when the visitor ends the reading, or too much is damaged.
  bool read(TraceBlock block);

private:
  struct KnownType {
    symbols::EventType type; // empty when it is not wanted
    bool wanted = false;
    std::size_t fields = 0; // of the type, with the nested ones
  };
  // The stacks with ids `first` to `first` + `count` - 1. They are located when an event needs one of them.
  struct StackRun {
    std::uint32_t count = 0;
    TraceBytes rows{{}, 0};
    std::vector<std::span<const std::byte>> stacks;
  };

  bool read_rows(TraceBlock& block);
  template<typename Use>
  bool each_event(TraceBytes& body, bool metadata, Use use);
  void take_compressed(TraceBytes& bytes, symbols::EventHeader& header, bool metadata) const;
  TraceBytes take_uncompressed(TraceBytes& bytes, symbols::EventHeader& header) const;
  bool visit(const symbols::EventHeader& header, const TraceBytes& payload);
  void count_dropped(const symbols::EventHeader& header);
  void check_sequence(std::uint64_t thread, std::uint32_t last);
  void read_metadata_rows(TraceBytes& body);
  template<typename ReadType>
  void add_type(const TraceBytes& row, ReadType read_type);
  void read_sequence_point(TraceBytes& body);
  void read_stacks(TraceBytes& body);
  TraceStack stack(std::uint32_t id, std::uint64_t offset);
  void read_threads(TraceBytes& body);
  void read_removed_threads(TraceBytes& body);
  void read_labels(TraceBytes& body);
  bool too_damaged() const { return faults_ >= NetTrace::max_faults; }
  void malformed(const TraceFault& fault);
  void malformed(TraceFaultKind what, std::uint64_t offset);

  template<typename Key, typename Value>
  using Table = std::unordered_map<Key, Value, SeededHash>;

  const TraceInfo& info_;
  std::uint64_t size_;
  TraceVisitor& visitor_;
  TraceReport& report_;
  std::size_t faults_ = 0; // parts that were given up, whether they are reported or not
  Table<std::uint32_t, KnownType> types_;
  std::size_t fields_left_ = NetTrace::max_fields;
  Table<std::uint64_t, TraceThread> threads_;     // version 6, by index
  Table<std::uint64_t, std::uint32_t> sequences_; // last number of each capturing thread
  std::map<std::uint32_t, StackRun> stacks_;      // by the first id
  std::size_t located_ = 0;                       // stacks of all runs
  Table<std::uint32_t, EventLabels> labels_;      // only lists with a label that is used here
};

} // namespace clr
