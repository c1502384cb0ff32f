#include "core/execution/body_table.h"

#include <algorithm>
#include <bit>

namespace clr {

std::size_t KnownBody::function_at(Address address) const {
  const auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  return after == functions.begin() ? 0 : static_cast<std::size_t>(after - functions.begin()) - 1;
}

CodeBlock KnownBody::seen_from(Address ip) const {
  CodeBlock seen{.ip = ip,
                 .start = start,
                 .method_desc = method_desc,
                 .kind = kind,
                 .section = *section,
                 .code_header = code_header,
                 .function_index = method_index,
                 .method_index = method_index};
  if (kind == CodeKind::ready_to_run && functions.size() > 1)
    seen.function_index = functions[function_at(ip)].index;
  return seen;
}

KnownBody* BodyTable::find_large(Address address) {
  const auto after = large_.upper_bound(address);
  if (after == large_.begin()) return nullptr;
  const Part& part = std::prev(after)->second;
  return address < part.end ? &body(part.body) : nullptr;
}

const RangeSection* BodyTable::keep(const RangeSection& section) {
  if (last_section_ != nullptr && *last_section_ == section) return last_section_;
  const RangeSection*& known = section_by_begin_[section.begin];
  if (known == nullptr || !(*known == section)) known = &sections_.emplace_back(section);
  return last_section_ = known;
}

KnownBody& BodyTable::add(KnownBody added, const RangeSection& section) {
  if (count_ >= max_bodies || used_slots_ >= max_slots || functions_ + added.functions.size() > max_functions)
    *this = {};
  if (count_ == chunks_.size() * bodies_per_chunk)
    chunks_.push_back(std::make_unique<KnownBody[]>(bodies_per_chunk));
  const auto number = static_cast<std::uint32_t>(count_ + 1);
  const bool hot = add_part(added.regions.hot_start, added.regions.hot_size, number);
  const bool cold = add_part(added.regions.cold_start, added.regions.cold_size, number);
  if (!hot && !cold) {
    not_entered_ = std::make_unique<Apart>(Apart{.body = std::move(added), .section = section});
    latest_ = &not_entered_->body;
    latest_->section = &not_entered_->section;
    return *latest_;
  }
  ++count_;
  functions_ += added.functions.size();
  latest_ = &body(number);
  *latest_ = std::move(added);
  latest_->section = keep(section);
  return *latest_;
}

KnownBody& BodyTable::set_functions(KnownBody& body, std::vector<KnownBody::Function> functions) {
  body.functions = std::move(functions);
  body.functions_read = true;
  if (not_entered_ && &body == &not_entered_->body) return body;
  functions_ += body.functions.size();
  if (functions_ <= max_functions) return body;
  KnownBody last = std::move(body);
  const RangeSection section = *last.section;
  *this = {};
  return add(std::move(last), section);
}

bool BodyTable::add_part(Address begin, std::uint64_t size, std::uint32_t body) {
  const Address end = begin + size;
  if (size == 0 || end < begin || find_large(begin) != nullptr || find_large(end - 1) != nullptr)
    return false;
  const std::uint64_t first = begin >> granule_bits, last = (end - 1) >> granule_bits;
  if (last - first >= max_granules) {
    if (slot_of(begin) != nullptr || slot_of(end - 1) != nullptr) return false;
    large_[begin] = {.end = end, .body = body};
    return true;
  }
  if (overlaps(begin, end - 1)) return false;
  for (std::uint64_t granule = first; granule <= last; ++granule) {
    const Address from = granule == first ? begin : granule << granule_bits;
    const Address to = granule == last ? end - 1 : granule << granule_bits | granule_mask;
    insert({.first = from, .span = static_cast<std::uint32_t>(to - from), .body = body});
  }
  return true;
}

bool BodyTable::overlaps(Address begin, Address last) const {
  if (slots_.empty()) return false;
  for (std::uint64_t granule = begin >> granule_bits; granule <= last >> granule_bits; ++granule)
    for (std::size_t i = place_of(granule); slots_[i].body != 0; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].first <= last && slots_[i].first + slots_[i].span >= begin) return true;
  return false;
}

void BodyTable::insert(const Slot& slot) {
  // Long probes begin at a load of two thirds.
  if (3 * (used_slots_ + 1) > 2 * slots_.size()) grow();
  std::size_t i = place_of(slot.first >> granule_bits);
  while (slots_[i].body != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = slot;
  ++used_slots_;
}

void BodyTable::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max(first_slots, 2 * old.size()), {});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_.size()));
  used_slots_ = 0;
  for (const Slot& slot : old)
    if (slot.body != 0) insert(slot);
}

} // namespace clr
