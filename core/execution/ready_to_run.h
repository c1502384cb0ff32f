// ReadyToRun images as the runtime sees them: the tables behind a Module's ReadyToRunInfo, and the way from a
// runtime function to the method that contains it.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (ReadyToRunJitManager);
// src/coreclr/vm/codeman.cpp (ReadyToRunJitManager), readytoruninfo.h.
#pragma once

#include "core/execution/body_table.h"
#include "core/execution/entry_point_map.h"
#include "core/execution/hot_cold_map.h"
#include "core/execution/runtime_functions.h"
#include "core/metadata/native_format.h"
#include "core/target/record.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace clr {

// The major version of the READYTORUN_HEADER at `header`. Formats follow from it, so that what is no such
// header must not give one. 2 reads. Throws Error{memory_missing}, Error{corrupt} when no ReadyToRun header
// is there.
unsigned read_r2r_major_version(const Target& target, Address header);

// A part of an image: its RVA and its bytes.
struct R2RDirectory {
  std::uint32_t rva = 0, size = 0;
};
// The section `type` that the READYTORUN_HEADER at `header` lists; nothing when it lists none. 2 reads.
// Throws Error{memory_missing, corrupt}.
std::optional<R2RDirectory> find_r2r_section(const Target& target, Address header, std::uint32_t type);

// The layout of ReadyToRunInfo.
class ReadyToRunLayout {
public:
  // No reads. Throws Error{unsupported_contract}.
  explicit ReadyToRunLayout(const Target& target);

private:
  friend class ReadyToRunImage;
  std::optional<RecordSpan> span_; // nothing: the fields lie too far from each other to be read at once
  std::int64_t header_, composite_info_, function_count_, functions_;
  std::optional<std::int64_t> thunks_;
  std::optional<std::int64_t> hot_cold_count_, hot_cold_map_, debug_info_section_;
  std::int64_t module_info_;
};

// One image. Valid during the stop in which it was read.
class ReadyToRunImage {
public:
  // The image of `section`, whose r2r_module must be set. `functions` must outlive this. Cost: 4 reads, 1
  // more for a component of a composite image, 7 more where the fields of ReadyToRunInfo lie far from each
  // other. Throws Error.
  ReadyToRunImage(const Target& target, const RuntimeFunctions& functions, const ReadyToRunLayout& layout,
                  const RangeSection& section);

  Address module() const { return module_; }
  Address info() const { return info_; }
  Address composite_info() const { return composite_info_; }
  Address base() const { return base_; }
  // READYTORUN_HEADER; for a component that of the composite image.
  Address header() const { return header_; }
  Address functions() const { return functions_; }
  std::uint32_t function_count() const { return function_count_; }
  // The number of functions before the first cold part. 1 read when there are cold parts.
  std::uint32_t hot_count() const {
    const std::uint32_t hot = hot_cold_.hot_count(); // 0 without a map
    return hot == 0 ? function_count_ : std::min(hot, function_count_);
  }

  // The place of the delay-load method call thunks.
  std::uint32_t thunk_rva() const { return thunks_.rva; }
  std::uint32_t thunk_bytes() const { return thunks_.size; }
  // Whether `rva` lies in the delay-load method call thunks.
  bool is_thunk(std::uint64_t rva) const { return rva - thunks_.rva < thunks_.size; }

  // The last runtime function that begins at or before `rva`; `rva` may lie behind its end. Nothing before
  // the first function. About log2(n) - 2 reads.
  std::optional<std::uint32_t> function_at(std::uint64_t rva) const;
  // First byte of function `index`, without Thumb bit.
  Address start_of(std::uint32_t index) const { return base_ + table_->begin(functions_, index); }
  std::uint64_t length_of(std::uint32_t index) const { return table_->length(functions_, index, base_); }
  Address runtime_function(std::uint32_t index) const { return table_->entry(functions_, index); }

  // The runtime functions that begin a method, ascending, from the image's own tables of entry points. Used
  // only when debug info does not tell. Null: not available.
  using EntryPoints = std::function<const std::vector<std::uint32_t>*()>;
  // The body that contains function `index`. Its method_desc is 0 when the runtime has not prepared the
  // method. The runtime's own rule is to go back to the nearest registered method, but that rule holds only
  // for code that runs: for other code it would give an unrelated method. So here a function begins a method
  // if it is registered, if it has debug info (funclets have none), or if the entry points say so. A method
  // that was found by going back counts only if its code reaches as far as the function.
  // Cost: about 8 reads for a registered method; up to 10 more for another one, and for each function before
  // it that begins none; of those each is looked at once. Throws Error, also when that takes more than
  // max_entry_probes.
  KnownBody body_of(std::uint32_t index, const EntryPoints& entry_points) const;

  const HotColdMap& hot_cold() const { return hot_cold_; }

  // Whether the function has chained unwind info. That marks the cold part of a method's main body; cold
  // funclets have unwind info of their own. 2 reads; x64.
  bool is_chained(std::uint32_t index) const;
  bool is_fragment(std::uint32_t index) const { return table_->is_fragment(functions_, index, base_); }

  // GC info of the method that begins at function `index`, and its version. 2 reads; the version 1 read once.
  Address gc_info_of(std::uint32_t index) const;
  unsigned gc_info_version() const;
  // Debug info of the method that begins at function `index`; nothing when it has none. About 8 reads.
  std::optional<Address> debug_info_of(std::uint32_t index) const;

  static constexpr std::uint32_t max_functions = 16'000'000;
  // Limit of the runtime functions of one method: funclets and fragments.
  static constexpr std::uint32_t max_functions_of_method = 4096;
  // Buckets of the map of entry points that are read for one body: two for each of its functions. Most need
  // one.
  static constexpr std::uint32_t max_entry_probes = 2 * max_functions_of_method;
  // Runs of functions that begin no method, and ends of methods, that are kept of one image; when there are
  // more, all are looked for again. An image of all of .NET has some ten thousand methods with funclets.
  static constexpr std::size_t max_kept_runs = 1 << 18;

private:
  using Directory = R2RDirectory;
  std::optional<Directory> debug_info_directory() const;
  Directory read_directory(Address address) const;
  // Whether function `index` has its own debug info; nothing when the image has no debug info or it cannot be
  // read.
  std::optional<bool> has_debug_info(std::uint32_t index) const;
  struct Method {
    std::uint32_t index = 0;
    Address method_desc = 0; // 0: not registered
  };
  // The method whose entry point is function `index`, when the runtime has prepared it. `probes`: what is
  // left of max_entry_probes. 2 to 4 reads.
  std::optional<Address> method_at(std::uint32_t index, std::uint32_t& probes) const {
    return entry_points_.find(start_of(index), probes);
  }
  std::optional<Method> method_before(std::uint32_t index, const EntryPoints& entry_points,
                                      std::uint32_t& probes) const;
  // The first function of the run of inner_ that holds `index`; nothing when none does.
  std::optional<std::uint32_t> first_inner(std::uint32_t index) const;
  // Adds the functions [first, last] to inner_.
  void keep_inner(std::uint32_t first, std::uint32_t last) const;
  MethodRegions regions_of(std::uint32_t method_index, Address& gc_info, std::uint32_t& probes) const;
  // End of a method's hot part by the function table: the end of the last function before the next method;
  // nothing when that is not known or cannot be read. Kept.
  std::optional<Address> code_end_by_table(std::uint32_t method_index, std::uint32_t& probes) const;
  std::optional<Address> read_code_end(std::uint32_t method_index, std::uint32_t& probes) const;
  void add_functions(KnownBody& body) const;

  const Target* target_;
  const RuntimeFunctions* table_;
  const ReadyToRunLayout* layout_;
  Address module_, info_, composite_info_ = 0, base_, header_ = 0, functions_ = 0;
  Address debug_info_section_ = 0;
  std::uint64_t image_size_;
  std::uint32_t function_count_ = 0;
  Directory thunks_;
  EntryPointMap entry_points_;
  HotColdMap hot_cold_;
  mutable std::optional<unsigned> gc_info_version_;
  mutable std::optional<std::optional<NativeArray>> debug_info_; // outer: set after the first search
  mutable ByteRange debug_info_bytes_;
  // Runs of functions that begin no method, as look-ups have learned: the last by the first. They do not
  // touch.
  mutable std::map<std::uint32_t, std::uint32_t> inner_;
  // What code_end_by_table() found, by method. Only of methods whose GC info cannot be read.
  mutable std::unordered_map<std::uint32_t, std::optional<Address>> code_ends_;
};

} // namespace clr
