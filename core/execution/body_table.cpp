#include "core/execution/body_table.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t max_recent = 256;

} // namespace

const BodyTable::Body* BodyTable::find_in(const std::vector<Body>& bodies, Address address) {
  auto after = std::ranges::upper_bound(bodies, address, {}, &Body::begin);
  if (after == bodies.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

const CodeBlock* BodyTable::find(Address address) const {
  const auto after = std::ranges::upper_bound(begins_, address);
  if (after != begins_.begin()) {
    const Body& body = bodies_[static_cast<std::size_t>(after - begins_.begin()) - 1];
    if (address < body.end) return &blocks_[body.block];
  }
  const Body* body = find_in(recent_, address);
  return body != nullptr ? &blocks_[body->block] : nullptr;
}

void BodyTable::add(Address begin, Address end, const CodeBlock& block) {
  if (begin >= end || find(begin) != nullptr || find(end - 1) != nullptr) return;
  const Body body{.begin = begin, .end = end, .block = static_cast<std::uint32_t>(blocks_.size())};
  blocks_.push_back(block);
  recent_.insert(std::ranges::upper_bound(recent_, begin, {}, &Body::begin), body);
  if (recent_.size() >= max_recent) merge_recent();
}

void BodyTable::merge_recent() {
  const auto middle = static_cast<std::ptrdiff_t>(bodies_.size());
  bodies_.insert(bodies_.end(), recent_.begin(), recent_.end());
  std::ranges::inplace_merge(bodies_, bodies_.begin() + middle, {}, &Body::begin);
  recent_.clear();
  begins_.resize(bodies_.size());
  std::ranges::transform(bodies_, begins_.begin(), &Body::begin);
}

} // namespace clr
