// The graph of a heap as a .gcdump: the file that PerfView, Visual Studio and `dotnet-gcdump report` open.
// Source: microsoft/perfview src/FastSerialization, src/MemoryGraph/graph.cs, MemoryGraph.cs;
// dotnet/diagnostics src/Tools/dotnet-gcdump/DotNetHeapDump/GCHeapDump.cs.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

struct GcdumpType {
  std::string name;
  std::string module; // empty: none
};

struct GcdumpNode {
  std::uint32_t type = 0;                       // its index in GcdumpGraph::types
  std::uint64_t size = 0;                       // bytes
  Address address = 0;                          // 0: a node that is no object
  std::span<const std::uint32_t> children = {}; // numbers of nodes; valid during the visit
};

struct GcdumpGraph {
  std::vector<GcdumpType> types;
  bool is_64_bit = true;
  // Visits all nodes by their numbers: from 0, the root, upward, and the same ones each time. May throw.
  std::function<void(const std::function<void(const GcdumpNode&)>&)> for_each_node;
};

// What the file says of the process beside its heap.
struct GcdumpFacts {
  std::string log;     // sentences for a reader of the file
  std::string process; // its name; empty: not known
  std::int32_t process_id = 0;
  std::int64_t unix_seconds = 0; // when the file was made
};

struct GcdumpCount {
  std::uint64_t nodes = 0, references = 0;
  std::uint64_t bytes = 0;      // the sum of the nodes' sizes
  std::uint64_t cut_sizes = 0;  // nodes that are larger than the format can say; they have the largest size
  std::uint64_t file_bytes = 0; // of the whole file
};

// The format counts the bytes of its references in 31 bits; its largest size of a node is the same number.
constexpr std::uint64_t max_gcdump_bytes = (std::uint64_t{1} << 31) - 1;

// Gives the bytes of the file to `put`, one piece behind the other. Visits the nodes three times; keeps 4
// bytes for each. Throws Error{unsupported_contract} before the first byte when the graph takes more than
// `most` bytes; Error{corrupt} when a later visit shows other nodes than the first; and what `for_each_node`
// and `put` throw.
GcdumpCount write_gcdump(const GcdumpGraph& graph, const GcdumpFacts& facts,
                         const std::function<void(std::span<const std::byte>)>& put,
                         std::uint64_t most = max_gcdump_bytes);

} // namespace clr
