// The map of the arguments that a ReadyToRun image has for each cell through which its code calls: which
// words hold references. Source: dotnet/runtime src/coreclr/inc/gcrefmap.h;
// docs/design/coreclr/botr/readytorun-format.md (READYTORUN_IMPORT_SECTIONS).
#pragma once

#include "core/execution/execution_manager.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace clr {

struct MappedArgument {
  std::uint32_t slot = 0; // a word, counted from the block's first that a map can name
  bool interior = false;
  friend bool operator==(const MappedArgument&, const MappedArgument&) = default;
};

// The map at `address`, of a 64-bit CPU. Throws Error{memory_missing}, Error{corrupt} when it is longer than
// max_map_bytes. Cost: a read for each byte, of the same page as a rule.
std::vector<MappedArgument> read_argument_map(const Target& target, Address address);

// The address of the map of the import cell at `cell`; nothing when no image has the cell, or the image has
// no map for it. Throws Error. Cost: some 10 reads, and one for each byte of the maps before it in its group.
std::optional<Address> argument_map_of(ExecutionManager& code, Address cell);

// A map has a bit or two for each word of arguments; more bytes than this are no map. The same for the import
// sections of an image.
constexpr std::uint32_t max_map_bytes = 16'384, max_argument_sections = 1'024;

} // namespace clr
