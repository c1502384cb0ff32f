#include "core/target/record.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

std::int64_t RecordSpan::require(const Target& target, std::string_view field, std::size_t width) {
  const std::int64_t offset = target.offset(type_, field);
  cover(field, offset, width);
  return offset;
}

std::optional<std::int64_t> RecordSpan::optional(const Target& target, std::string_view field,
                                                 std::size_t width) {
  const auto offset = target.find_offset(type_, field);
  if (offset) cover(field, *offset, width);
  return offset;
}

void RecordSpan::cover(std::string_view field, std::int64_t offset, std::size_t width) {
  constexpr std::int64_t limit = 1 << 20; // far beyond any structure; keeps the sums below from overflowing
  if (offset < -limit || offset > limit)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("offset {} of {}.{} is not plausible", offset, type_, field));
  const std::int64_t begin = empty_ ? offset : std::min(begin_, offset);
  const std::int64_t end = std::max(empty_ ? offset : end_, offset + static_cast<std::int64_t>(width));
  if (end - begin > static_cast<std::int64_t>(target::Record::max_size))
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("the fields of {} spread over {} bytes, {} at most", type_, end - begin,
                            target::Record::max_size));
  begin_ = begin;
  end_ = end;
  empty_ = false;
}

target::Record::Record(const Target& target, Address base, const RecordSpan& span)
    : platform_(&target.platform()), begin_(span.begin()) {
  target.read_bytes(base + static_cast<Address>(begin_), std::span(bytes_).first(span.size()));
}

target::Record::Record(const Target& target, std::span<const std::byte> bytes, const RecordSpan& span)
    : platform_(&target.platform()), begin_(span.begin()) {
  std::ranges::copy(bytes.first(span.size()), bytes_.begin());
}

} // namespace clr
