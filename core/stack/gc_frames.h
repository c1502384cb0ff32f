// GCFrames: the records of native code of the runtime that holds references to objects. Source:
// dotnet/runtime src/coreclr/vm/frames.h (GCFrame, GCPROTECT_BEGIN).
#pragma once

#include "core/stack/threads.h"
#include "core/target/target.h"

#include <string>
#include <vector>

namespace clr {

struct GcFrame {
  Address address = 0;
  Address references = 0; // of the first word that it protects
  std::uint32_t count = 0;
  bool interior = false;
};

struct GcFrames {
  std::vector<GcFrame> frames; // innermost first: their addresses ascend
  std::string problem;         // why the list ends early; empty when it is whole
};

// The GCFrames of a thread. Where the runtime does not say where its list begins, it is the word of the
// Thread that leads to a record on its stack which leads back to the Thread. Never throws. Cost: 1 to some 20
// reads, and 4 for each record.
GcFrames read_gc_frames(const Target& target, const RuntimeThread& thread);

// Records of one thread, and words that one of them protects.
constexpr std::size_t max_gc_frames = 10'000;
constexpr std::uint32_t max_protected_words = 100'000;

} // namespace clr
