// Stacks of several threads, equal ones once.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/runtime/stack_rows.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace clr {

// The frames of a stack that are shown.
struct ShownFrames {
  std::vector<FrameRow> rows;
  std::size_t left_out = 0; // those that folded_as tells, where they are not in `rows`

  void add(const FrameRow& row, bool fold = true);
};

// Its rows are those of the first of its threads.
struct MergedStack : ShownFrames {
  StackReporter::End end;
  std::size_t walked = 0;             // frames, those among them that are not in `rows`
  std::vector<std::uint32_t> threads; // the debugger's numbers
};

class MergedStacks {
public:
  // Stacks are equal when their rows stand at the same addresses in the same exact methods.
  void add(MergedStack stack);
  // In the order of their first threads.
  const std::vector<MergedStack>& all() const { return stacks_; }

private:
  std::vector<MergedStack> stacks_;
  std::map<std::vector<Address>, std::size_t> known_;
};

// The same number for frames that fold into one another in a recursion.
std::uint64_t frame_key(const FrameRow& row);

} // namespace clr
