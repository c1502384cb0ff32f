// ReadyToRun images as the runtime sees them: the tables behind a Module's ReadyToRunInfo.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (ReadyToRunJitManager);
// src/coreclr/vm/readytoruninfo.h.
#pragma once

#include "core/execution/code_block.h"
#include "core/execution/code_pointer.h"
#include "core/execution/entry_point_map.h"
#include "core/execution/hot_cold_map.h"
#include "core/execution/runtime_functions.h"

#include <optional>

namespace clr {

// One image. Valid for the stop at which it was read.
class ReadyToRunImage {
public:
  // The image of `section` (its r2r_module is set). About 12 reads. Throws Error.
  ReadyToRunImage(const Target& target, const RuntimeFunctions& functions, const RangeSection& section);

  Address module() const { return module_; }
  Address info() const { return info_; }
  Address composite_info() const { return composite_info_; }
  Address base() const { return base_; }
  Address header() const { return header_; }
  Address functions() const { return functions_; }
  std::uint32_t function_count() const { return function_count_; }

  // `rva` lies among the delay-load method call thunks.
  bool is_thunk(std::uint64_t rva) const { return rva >= thunks_begin_ && rva < thunks_end_; }

  // The runtime function that covers `rva`; nothing for data, headers and gaps. About log2(n) + 2 reads.
  std::optional<std::uint32_t> function_at(std::uint64_t rva) const;
  // First byte of function `index`, without Thumb bit.
  Address start_of(std::uint32_t index) const { return base_ + table_.begin(functions_, index); }
  std::uint64_t length_of(std::uint32_t index) const { return table_.length(functions_, index, base_); }
  // First function of the fragments that `index` belongs to.
  std::uint32_t first_fragment(std::uint32_t index) const;

  // The method that has its entry point at function `index`, when the runtime has prepared it. 3 to 9 reads.
  std::optional<Address> method_at(std::uint32_t index) const;
  const HotColdMap& hot_cold() const { return hot_cold_; }

  Address runtime_function(std::uint32_t index) const { return table_.entry(functions_, index); }
  // GC info of the method that begins at function `index`, with its version.
  Address gc_info_of(std::uint32_t index) const;
  unsigned gc_info_version() const { return gc_info_version_; }
  // Debug info of the method that begins at function `index`; 0 when it has none.
  Address debug_info_of(std::uint32_t index) const;

  static constexpr std::uint32_t max_functions = 16'000'000;

private:
  struct Directory {
    std::uint32_t rva = 0, size = 0;
  };
  std::optional<Directory> debug_info_directory() const;
  Directory read_directory(Address address) const;

  const Target* target_;
  RuntimeFunctions table_;
  Address module_ = 0, info_ = 0, composite_info_ = 0, base_ = 0, header_ = 0, functions_ = 0;
  std::uint64_t image_size_ = 0;
  std::uint32_t function_count_ = 0;
  std::uint64_t thunks_begin_ = 0, thunks_end_ = 0;
  unsigned gc_info_version_ = 0;
  EntryPointMap entry_points_;
  HotColdMap hot_cold_;
  mutable std::optional<std::optional<Directory>> debug_directory_; // outer: looked up
};

} // namespace clr
