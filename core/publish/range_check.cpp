#include "core/publish/range_check.h"

#include "core/memory/path_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace clr {
namespace {

constexpr Address page = 4'096; // the smallest of any system

RangeRefusal too_large(std::uint64_t size, std::uint64_t limit) {
  return {OmissionCause::limit, fmt::format("{} bytes; {} are believed at most", size, limit)};
}

} // namespace

RangeCheck::RangeCheck(Runtime& runtime) : runtime_(&runtime) {
  for (const LoadedModule& module : runtime.modules()) {
    // A list that was made of a core's mappings may take the runtime's own memory file, in which all jitted
    // code lies, for a module; and assemblies hold managed code.
    if (module.size == 0 || module.path.starts_with("/memfd:") || module.path.ends_with(".dll")) continue;
    natives_.push_back({module.base, module.base + module.size, &module.path});
  }
  std::ranges::sort(natives_, {}, &Native::begin);
  // A module that lies within another, by a list that errs, must not hide the rest of that other.
  for (std::size_t i = 1; i < natives_.size(); ++i)
    natives_[i].end = std::max(natives_[i].end, natives_[i - 1].end);
}

const RangeCheck::Native* RangeCheck::native_in(Address begin, Address end) const {
  const auto behind = std::ranges::lower_bound(natives_, end, {}, &Native::begin);
  if (behind == natives_.begin()) return nullptr;
  const Native& last = *std::prev(behind);
  return last.end > begin ? &last : nullptr;
}

bool RangeCheck::has_readable_page(Address begin, Address end) const {
  MemoryReader& memory = runtime_->target()->memory();
  const Address first = begin & ~(page - 1);
  const std::uint64_t pages = (end - first + page - 1) / page;
  // All pages of a small range; else half of the tries at its begin, the others all over it.
  for (std::uint64_t i = 0; i < std::min(pages, max_probes); ++i) {
    const bool spread = pages > max_probes && i >= max_probes / 2;
    const std::uint64_t number = spread ? (i - max_probes / 2 + 1) * ((pages - 1) / (max_probes / 2)) : i;
    std::array<std::byte, 1> byte{};
    if (memory.read_data_some(std::max(begin, first + number * page), byte) == 1) return true;
  }
  return false;
}

std::optional<RangeRefusal> RangeCheck::of_stubs(Address begin, Address end) const {
  if (end - begin > max_stubs) return too_large(end - begin, max_stubs);
  if (auto refusal = of_unknown(begin, end)) return refusal;
  if (!has_readable_page(begin, end))
    return RangeRefusal{OmissionCause::unreadable, fmt::format("{} bytes", end - begin)};
  return std::nullopt;
}

std::optional<RangeRefusal> RangeCheck::of_thunks(Address begin, Address end,
                                                  const RangeSection& section) const {
  if (end - begin > max_stubs) return too_large(end - begin, max_stubs);
  if (begin < section.begin || end > section.end)
    return RangeRefusal{OmissionCause::outside,
                        fmt::format("the image has [{:#x}, {:#x})", section.begin, section.end)};
  if (!has_readable_page(begin, end))
    return RangeRefusal{OmissionCause::unreadable, fmt::format("{} bytes", end - begin)};
  return std::nullopt;
}

std::optional<RangeRefusal> RangeCheck::of_body(Address begin, std::uint64_t size,
                                                const RangeSection& section) {
  if (size > max_body) return too_large(size, max_body);
  const Address end = begin + size;
  if (begin < section.begin || end > section.end || end < begin)
    return RangeRefusal{
        OmissionCause::outside,
        fmt::format("it ends at {:#x}, its section has [{:#x}, {:#x})", end, section.begin, section.end)};
  if (begin >= gap_begin_ && end <= gap_end_) return std::nullopt;
  const auto next = std::ranges::upper_bound(natives_, begin, {}, &Native::begin);
  gap_begin_ = next == natives_.begin() ? 0 : std::prev(next)->begin;
  gap_end_ = next == natives_.end() ? ~Address{0} : next->begin;
  if (end <= gap_end_) return std::nullopt;
  return RangeRefusal{OmissionCause::not_ours, std::string(file_name_of(*next->path))};
}

std::optional<RangeRefusal> RangeCheck::of_unknown(Address begin, Address end) const {
  const Native* const native = native_in(begin, end);
  if (native == nullptr) return std::nullopt;
  return RangeRefusal{OmissionCause::not_ours, std::string(file_name_of(*native->path))};
}

} // namespace clr
