#include "core/report/merged_stacks.h"

#include <functional>
#include <string>
#include <utility>

namespace clr {

void ShownFrames::add(const FrameRow& row, bool fold) {
  if (fold && !folded_as(row).empty())
    ++left_out;
  else
    rows.push_back(row);
}

void MergedStacks::add(MergedStack stack) {
  std::vector<Address> key;
  for (const FrameRow& row : stack.rows) {
    key.push_back(row.ip);
    if (row.exact) key.push_back(std::hash<std::string>{}(row.exact->method.full_name));
  }
  const auto [place, added] = known_.try_emplace(std::move(key), stacks_.size());
  if (added) return stacks_.push_back(std::move(stack));
  std::vector<std::uint32_t>& threads = stacks_[place->second].threads;
  threads.insert(threads.end(), stack.threads.begin(), stack.threads.end());
}

std::uint64_t frame_key(const FrameRow& row) {
  if (!row.frame_type.empty()) return std::hash<std::string>{}(row.frame_type);
  return row.exact ? row.ip ^ std::hash<std::string>{}(row.exact->method.full_name) : row.ip;
}

} // namespace clr
