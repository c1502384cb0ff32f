// The debug info of a method body, which the JIT or crossgen2 made: the IL offset that belongs to a native
// offset, and the places of variables.
// Source: dotnet/runtime docs/design/datacontracts/DebugInfo.md and its earlier versions,
// src/coreclr/vm/debuginfostore.cpp, src/coreclr/inc/patchpointinfo.h.
#pragma once

#include "core/debuginfo/debug_info_format.h"
#include "core/debuginfo/patchpoint_info.h"
#include "core/execution/execution_manager.h"

#include <memory>
#include <unordered_map>

namespace clr {

// Reads during one stop. Blocks must come from the manager. All functions throw Error: memory_missing (a core
// may lack the blob), corrupt, unsupported_contract.
class DebugInfoReader {
public:
  // `manager` must outlive the reader. No reads.
  explicit DebugInfoReader(ExecutionManager& manager) : manager_(&manager) {}

  // The map of the body that holds block.ip; empty when the method has none (stubs, some dynamic methods).
  // Each body of a method has its own map: an OSR or tier-1 body starts at its own offset 0. When a profiler
  // rewrote the IL, this is the map to the original IL, which symbols describe. Never null; kept for the
  // stop, within limits. Cost: that of ExecutionManager::debug_info and 2 reads, 1 more with patchpoints;
  // later 0.
  std::shared_ptr<const IlMap> il_map(const CodeBlock& block);

  // The IL offset at block.ip that the runtime's stack traces show. They print IL offset 0 for a method
  // without a map, unless it is a dynamic one. For a frame that was looked up by the byte before its return
  // address, the kind is `exact`. Cost: that of il_map and ExecutionManager::relative_offset.
  IlPosition il_position(const CodeBlock& block, NativeOffsetKind kind);

  // The stored locations of arguments and locals. Cost: that of il_map, but not kept. Throws
  // Error{unsupported_contract} when the target does not tell how they are coded.
  std::vector<debuginfo::Variable> variables(const CodeBlock& block);

  // The frame that a tier-0 body with patchpoints describes for its OSR bodies; nothing for other bodies.
  // Cost: that of ExecutionManager::debug_info and 3 reads.
  std::optional<PatchpointInfo> patchpoint_info(const CodeBlock& block);

  // The largest believable size of one part of a blob.
  static constexpr std::uint32_t max_part_bytes = 16 * 1024 * 1024;
  // Number of maps that are kept, and of their boundaries; when one is reached, all are forgotten. A map has
  // some twenty boundaries.
  static constexpr std::size_t max_kept_maps = 4096;
  static constexpr std::size_t max_kept_boundaries = 1 << 20;

private:
  struct Part {
    Address address = 0;
    std::uint32_t size = 0;
  };
  struct Parts {
    Part bounds, original_bounds, variables, patchpoints;
  };
  DebugInfoFormat format_of(const CodeBlock& block);
  Parts parts_of(const DebugInfoFormat& format, const DebugInfoLocation& location);
  Parts read_header(const DebugInfoFormat& format, Address address);
  std::vector<std::byte> read(const Part& part);

  ExecutionManager* manager_;
  std::optional<DebugInfoFormat> jitted_format_;
  std::unordered_map<Address, DebugInfoFormat> r2r_formats_;       // by READYTORUN_HEADER
  std::unordered_map<Address, std::shared_ptr<const IlMap>> maps_; // by start of the body
  std::size_t kept_boundaries_ = 0;                                // of maps_
};

} // namespace clr
