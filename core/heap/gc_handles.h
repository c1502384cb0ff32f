// Handles: the places outside of the heap that the runtime and programs (GCHandle) keep references in.
// Source: dotnet/runtime src/coreclr/gc/handletablepriv.h, objecthandle.h, objecthandle.cpp; measured
// on 8.0.0 to 10.0.14.
#pragma once

#include "core/heap/gc_state.h"

#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The runtime's own numbers.
enum class GcHandleKind : std::uint8_t {
  weak_short = 0,
  weak_long = 1,
  strong = 2,
  pinned = 3,
  ref_counted = 5,
  dependent = 6,
  async_pinned = 7,
  sized_ref = 8,
  weak_interior = 10,
};
// "weak_short", "strong", ...; "kind_9" for one that has no name here.
std::string to_string(GcHandleKind kind);
// Whether such a handle keeps its object alive by itself.
bool is_root(GcHandleKind kind);

struct GcHandle {
  Address slot = 0;
  GcHandleKind kind = GcHandleKind::strong;
  Address object = 0;    // never null
  Address dependent = 0; // what a dependent handle keeps alive as long as `object` lives; may be null
};

struct GcHandles {
  std::vector<GcHandle> handles;
  std::vector<std::string> problems; // tables that could not be read
  bool cut = false;                  // there are more than max_handles; then a problem says so

  // Returns whether there was room for it.
  bool add(const GcHandle& handle);
};

// All handles that refer to an object. A table that cannot be read costs itself. Throws
// Error{unsupported_contract} for 32-bit targets, whose tables are laid out in another way. Cost: 1 read for
// each segment of 7,680 handles, and some for each table.
GcHandles read_handles(const Target& target, const GcState& state);

constexpr std::size_t max_handle_maps = 64, max_handle_buckets = 1024, max_handle_tables = 4096,
                      max_handle_segments = 1 << 16;
// Of all tables. Programs have thousands, and a handle as a root takes 15 times its bytes in the core.
constexpr std::size_t max_handles = 1 << 22;

} // namespace clr
