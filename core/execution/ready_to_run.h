// ReadyToRun images as the runtime sees them: the tables behind a Module's ReadyToRunInfo, and from a runtime
// function to the method it is part of.
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
#include <optional>
#include <vector>

namespace clr {

// Where the fields of ReadyToRunInfo lie.
class ReadyToRunLayout {
public:
  // No reads. Throws Error{unsupported_contract}.
  explicit ReadyToRunLayout(const Target& target);

private:
  friend class ReadyToRunImage;
  RecordSpan span_{"ReadyToRunInfo"};
  std::int64_t header_, composite_info_, function_count_, functions_, thunks_;
  std::optional<std::int64_t> hot_cold_count_, hot_cold_map_, debug_info_section_;
  std::int64_t module_info_;
  std::int64_t major_version_;
};

// One image. Valid for the stop at which it was read.
class ReadyToRunImage {
public:
  // The image of `section` (its r2r_module is set). `functions` must outlive this. Cost: 4 reads, 1 more for
  // a component of a composite image. Throws Error.
  ReadyToRunImage(const Target& target, const RuntimeFunctions& functions, const ReadyToRunLayout& layout,
                  const RangeSection& section);

  Address module() const { return module_; }
  Address info() const { return info_; }
  Address composite_info() const { return composite_info_; }
  Address base() const { return base_; }
  // READYTORUN_HEADER; of the composite image for its components.
  Address header() const { return header_; }
  Address functions() const { return functions_; }
  std::uint32_t function_count() const { return function_count_; }
  // Of these, the ones before the first cold part. A read when there are any.
  std::uint32_t hot_count() const {
    const std::uint32_t hot = hot_cold_.hot_count(); // 0 without a map
    return hot == 0 ? function_count_ : std::min(hot, function_count_);
  }

  // The delay-load method call thunks.
  std::uint32_t thunk_rva() const { return thunks_.rva; }
  std::uint32_t thunk_bytes() const { return thunks_.size; }
  // `rva` lies among the delay-load method call thunks.
  bool is_thunk(std::uint64_t rva) const { return rva - thunks_.rva < thunks_.size; }

  // The last runtime function that begins at or before `rva`, which may lie behind its end; nothing before
  // the first one. About log2(n) - 2 reads.
  std::optional<std::uint32_t> function_at(std::uint64_t rva) const;
  // First byte of function `index`, without Thumb bit.
  Address start_of(std::uint32_t index) const { return base_ + table_->begin(functions_, index); }
  std::uint64_t length_of(std::uint32_t index) const { return table_->length(functions_, index, base_); }
  Address runtime_function(std::uint32_t index) const { return table_->entry(functions_, index); }

  // Runtime functions that begin a method, ascending, from the image's own tables of entry points; asked for
  // only where debug info does not tell. Null: not to be had.
  using EntryPoints = std::function<const std::vector<std::uint32_t>*()>;
  // The body that function `index` is part of. Its method_desc is 0 when the runtime has not prepared the
  // method. The runtime's own rule, to go back to the nearest registered method, holds only for code that
  // runs: for other code it would name the stranger before it. So a function begins a method if it is
  // registered, if it has debug info (funclets have none) or if the entry points say so; and a method that is
  // reached by going back counts only if its code reaches as far as the function.
  // Cost: about 8 reads for a registered method; up to 10 more for another one.
  KnownBody body_of(const RangeSection& section, std::uint32_t index, const EntryPoints& entry_points) const;

  // The method that has its entry point at function `index`, when the runtime has prepared it. 2 to 4 reads.
  std::optional<Address> method_at(std::uint32_t index) const { return entry_points_.find(start_of(index)); }
  const HotColdMap& hot_cold() const { return hot_cold_; }

  // The chained unwind info that marks the cold part of a method's main body, where cold funclets have their
  // own. 2 reads; x64.
  bool is_chained(std::uint32_t index) const;
  bool is_fragment(std::uint32_t index) const { return table_->is_fragment(functions_, index, base_); }

  // GC info of the method that begins at function `index`, with its version. 2 reads, the version 1 once.
  Address gc_info_of(std::uint32_t index) const;
  unsigned gc_info_version() const;
  // Debug info of the method that begins at function `index`; nothing when it has none. About 8 reads.
  std::optional<Address> debug_info_of(std::uint32_t index) const;

  static constexpr std::uint32_t max_functions = 16'000'000;
  // Runtime functions of one method: funclets and fragments.
  static constexpr std::uint32_t max_functions_of_method = 4096;

private:
  struct Directory {
    std::uint32_t rva = 0, size = 0;
  };
  std::optional<Directory> debug_info_directory() const;
  Directory read_directory(Address address) const;
  // Whether function `index` has debug info of its own; nothing when the image has none or lacks it.
  std::optional<bool> has_debug_info(std::uint32_t index) const;
  struct Method {
    std::uint32_t index = 0;
    Address method_desc = 0; // 0: not registered
  };
  std::optional<Method> method_before(std::uint32_t index, const EntryPoints& entry_points) const;
  MethodRegions regions_of(std::uint32_t method_index, Address& gc_info) const;
  // End of a method's hot part as the table tells it: behind the last function that begins no other method;
  // nothing where that is not known.
  std::optional<Address> code_end_by_table(std::uint32_t method_index) const;
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
  mutable std::optional<std::optional<NativeArray>> debug_info_; // outer: looked up
  mutable ByteRange debug_info_bytes_;
};

} // namespace clr
