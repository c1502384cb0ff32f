// The managed heap at one stop, for people and scripts: what fills it, by type and by part.
#pragma once

#include "core/heap/heap_free.h"
#include "core/heap/heap_statistics.h"
#include "core/runtime/runtime.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct HeapTypeRow {
  std::string name; // "<unknown type>" with the reason when it cannot be read
  std::string module;
  Address method_table = 0;
  HeapCount count;
};

// Names for whose bytes together there is a limit: beyond it, of a longer one the beginning stays, with
// "...".
class NameBudget {
public:
  explicit NameBudget(std::size_t most) : left_(most) {}
  std::string keep(std::string name);

  static constexpr std::size_t max_cut = 64; // bytes of a name that is cut

private:
  std::size_t left_;
};

struct HeapQuery {
  std::string glob;              // compared with the names of types; empty: every type
  Address method_table = 0;      // of the type; 0: every type
  std::optional<HeapPart> part;  // nothing: all of the heap
  std::uint64_t least_bytes = 0; // of a type; types that fill less are left out of the rows
  bool by_count = false;         // rows in descending order of objects, else of bytes
  std::size_t top = 0;           // so many rows at most; 0: all
};

// An object; `type` is valid as long as the reporter.
struct HeapObjectRow {
  Address address = 0;
  std::uint64_t size = 0; // bytes, aligned
  HeapPart part = HeapPart::gen0;
  const HeapTypeRow* type = nullptr;
};

struct HeapTypeReport {
  HeapCount all;         // of the types that the pattern selects, those without a row among them
  HeapCount free;        // free memory of the part
  std::size_t types = 0; // that the pattern selects
  std::vector<HeapTypeRow> rows;
  std::vector<HeapGap> gaps;
  bool interrupted = false; // then the counts are too small
};

class HeapReporter {
public:
  // `runtime` must have a target, and outlive this. Throws as read_heap_map does.
  explicit HeapReporter(Runtime& runtime);

  const HeapMap& map() const { return map_; }
  HeapTypes& types() { return types_; }

  // Free memory, with at most `most` of the largest blocks. Cost: that of walk_heap.
  HeapFreeSpace free_space(std::size_t most, const HeapWalkOptions& options = {}) {
    return count_free_space(map_, types_, most, options);
  }

  // Counts the heap once; later calls answer from what was counted, unless it was interrupted.
  const HeapStatistics& statistics(const HeapWalkOptions& options = {});
  // What statistics() still needs, to be done by a walk for something else, and then taken; null: nothing.
  std::unique_ptr<HeapCounting> counting() {
    return statistics_ ? nullptr : std::make_unique<HeapCounting>(map_, types_);
  }
  void take(HeapCounting& counted) {
    if (!counted.failure) statistics_ = counted.take();
  }
  HeapTypeReport count_types(const HeapQuery& query, const HeapWalkOptions& options = {}) {
    return count_types(query, statistics(options));
  }
  // The same of objects that were counted in another way. No walk.
  HeapTypeReport count_types(const HeapQuery& query, const HeapStatistics& statistics);

  // Visits the objects that `query` selects (of which only `glob`, `part` and `least_bytes` of one object
  // count), free memory apart, in ascending order of their addresses, until `visit` or the progress of
  // `options` returns false. The gaps are those of what was walked. Cost: that of HeapWalker::walk.
  std::vector<HeapGap> for_each_object(const HeapQuery& query,
                                       const std::function<bool(const HeapObjectRow&)>& visit,
                                       const HeapWalkOptions& options = {});

  // The name and module of a type; kept, within max_name_bytes. Never throws.
  const HeapTypeRow& type(Address method_table);

  // Bytes of the names of all types and their modules: 1,000 for each of 65,000 types, where 100 are usual.
  // One name can have 16 KB.
  static constexpr std::size_t max_name_bytes = 64u << 20;

  // What a reader of any figure about this heap must know: that a collection is in the middle of its work,
  // and what could not be read. Sentences.
  std::vector<std::string> warnings() const;

private:
  Runtime* runtime_;
  HeapMap map_;
  HeapTypes types_;
  std::optional<HeapStatistics> statistics_;
  std::unordered_map<Address, HeapTypeRow> names_; // at most one for each type of types_
  NameBudget name_budget_{max_name_bytes};
};

// "7 of 12 bytes of the heap are missing: objects there are not counted ...": one sentence for memory that is
// missing, and one for memory that makes no sense; none when there is no such memory.
std::vector<std::string> gap_texts(const std::vector<HeapGap>& gaps, std::uint64_t heap_bytes);

} // namespace clr
