// The state of ExecutionManager. Only for its lookups (execution_manager.cpp), the functions of what they
// find (body_functions.cpp) and its walks over all code (code_enumeration.cpp).
#pragma once

#include "core/execution/body_table.h"
#include "core/execution/code_heap.h"
#include "core/execution/code_pointer.h"
#include "core/execution/contract_support.h"
#include "core/execution/execution_manager.h"
#include "core/execution/jitted_code.h"
#include "core/execution/precode.h"
#include "core/execution/range_section_map.h"
#include "core/execution/ready_to_run.h"
#include "core/execution/stub_ranges.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

struct ExecutionManager::Impl {
  // Further holes are not recorded.
  static constexpr std::size_t max_holes = 65'536;

  explicit Impl(const Target& t)
      : target(t), map(t), heaps(t, nibble_map_version(t)), functions(t), jitted(t, functions), precodes(t),
        stub_ranges(t, precodes) {}

  // The section that holds `pc`, from the sections that are already known, else from the map; null if none.
  // Valid until the next call.
  const RangeSection* section_of(Address pc);
  CodeLookup find_jitted(const RangeSection& section, Address pc);
  // Bytes of the jitted code at `start`. Throws Error{corrupt} when other code begins among them: the answer
  // for one address would hide that code.
  std::uint64_t jitted_length(const RangeSection& section, Address start, const CodeHeader& header);
  // The MethodDesc in the InterpreterRealCodeHeader at `header`. Throws Error. 1 read.
  Address interpreted_method(Address header) const;
  CodeLookup find_r2r(const RangeSection& section, Address pc);
  KnownBody& add_jitted(const RangeSection& section, Address start, const CodeHeader& header,
                        std::uint64_t length);
  // The body of a block that find() or r2r_block() made.
  KnownBody& body_of(const CodeBlock& block);
  // The body with its runtime functions.
  KnownBody& body_with_functions(const CodeBlock& block);
  // The function of `body`, which is that of `block`, whose code the function at place `at` goes on with;
  // nothing when it begins a function or funclet itself. Throws Error. 2 reads.
  std::optional<std::size_t> continued(const CodeBlock& block, const KnownBody& body, std::size_t at);
  KnownBody r2r_body(const RangeSection& section, ReadyToRunImage& image, std::uint32_t index);
  ReadyToRunImage& image_of(const RangeSection& section);
  const CodePointers& pointers();
  // Whether `pc` is the entry of the routine that prepares a method for its first call, which lies in the
  // runtime's own code. 1 read, once.
  bool is_prestub(Address pc);
  void enumerate();
  void add_hole(std::vector<EnumerationHole>& to, Address at, const std::string& what) {
    if (to.size() < max_holes) to.push_back({.address = at, .what = what});
  }

  const Target& target;
  RangeSectionMap map;
  CodeHeaps heaps;
  RuntimeFunctions functions;
  JittedCode jitted;
  Precodes precodes;
  StubRanges stub_ranges;
  std::optional<CodePointers> code_pointers;
  std::optional<Address> prestub; // 0: not published, or not readable
  std::optional<ReadyToRunLayout> r2r_layout;
  std::unordered_map<Address, std::unique_ptr<ReadyToRunImage>> images; // by section
  R2REntries r2r_entries;

  BodyTable bodies;
  std::map<Address, RangeSection> met; // live sections, by begin
  const RangeSection* last_met = nullptr;
  std::optional<RangeSection> deleted; // the one that section_of() returned last
  bool enumerated = false;
  std::vector<RangeSection> sections;
  std::vector<EnumerationHole> holes; // first those of the map, then those of the last walk over the heaps
  std::size_t map_holes = 0;
};

} // namespace clr
