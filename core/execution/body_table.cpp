#include "core/execution/body_table.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t max_recent = 256;

} // namespace

std::size_t KnownBody::function_at(Address address) const {
  const auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  return after == functions.begin() ? 0 : static_cast<std::size_t>(after - functions.begin()) - 1;
}

CodeBlock KnownBody::seen_from(Address ip) const {
  CodeBlock seen = block;
  seen.ip = ip;
  if (block.kind == CodeKind::ready_to_run && functions.size() > 1)
    seen.function_index = functions[function_at(ip)].index;
  return seen;
}

const BodyTable::Part* BodyTable::find_in(const std::vector<Part>& parts, Address address) {
  auto after = std::ranges::upper_bound(parts, address, {}, &Part::begin);
  if (after == parts.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

const BodyTable::Part* BodyTable::part_at(Address address) const {
  const auto after = std::ranges::upper_bound(begins_, address);
  if (after != begins_.begin()) {
    const Part& part = parts_[static_cast<std::size_t>(after - begins_.begin()) - 1];
    if (address < part.end) return &part;
  }
  return find_in(recent_, address);
}

KnownBody* BodyTable::find(Address address) {
  if (address >= last_.begin && address < last_.end) return last_.body;
  const Part* part = part_at(address);
  if (part == nullptr) return nullptr;
  last_ = *part;
  return part->body;
}

KnownBody& BodyTable::add(KnownBody body) {
  if (bodies_.size() >= max_bodies) *this = {};
  KnownBody& added = bodies_.emplace_back(std::move(body));
  add_part(added.regions.hot_start, added.regions.hot_size, added);
  add_part(added.regions.cold_start, added.regions.cold_size, added);
  return added;
}

void BodyTable::add_part(Address begin, std::uint64_t size, KnownBody& body) {
  const Address end = begin + size;
  if (size == 0 || end < begin || part_at(begin) != nullptr || part_at(end - 1) != nullptr) return;
  recent_.insert(std::ranges::upper_bound(recent_, begin, {}, &Part::begin), {begin, end, &body});
  if (recent_.size() >= max_recent) merge_recent();
}

void BodyTable::merge_recent() {
  const auto middle = static_cast<std::ptrdiff_t>(parts_.size());
  parts_.insert(parts_.end(), recent_.begin(), recent_.end());
  std::ranges::inplace_merge(parts_, parts_.begin() + middle, {}, &Part::begin);
  recent_.clear();
  begins_.resize(parts_.size());
  std::ranges::transform(parts_, begins_.begin(), &Part::begin);
}

} // namespace clr
