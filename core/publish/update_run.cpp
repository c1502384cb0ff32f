#include "core/publish/update_run.h"

#include <utility>

namespace clr {
namespace {

// Bodies between two questions whether to give up.
constexpr std::size_t bodies_per_question = 128;

} // namespace

void UpdateRun::problem(std::string text) {
  if (problems_.size() < max_problems)
    problems_.push_back(std::move(text));
  else
    ++more_problems_;
}

std::vector<std::string> UpdateRun::take_problems() {
  if (more_problems_ != 0) problems_.push_back(fmt::format("and {} more", more_problems_));
  more_problems_ = 0;
  return std::exchange(problems_, {});
}

bool UpdateRun::stop() {
  if (!stopped_ && options.stop && ++asked_ % bodies_per_question == 0) stopped_ = options.stop();
  return stopped_;
}

} // namespace clr
