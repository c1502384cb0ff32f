#include "core/debuginfo/patchpoint_info.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::int32_t absent = -1;
constexpr std::int32_t exposed_bit = 1;

std::uint32_t read_local_count(const Target& target, Address address, const PatchpointLayout& layout) {
  const std::uint32_t count = target.read_u32(address + layout.local_count);
  if (count > max_patchpoint_locals)
    throw_corrupt(address, fmt::format("patchpoints of a method with {} locals", count));
  return count;
}

} // namespace

std::uint32_t patchpoint_info_size(const Target& target, Address address, const PatchpointLayout& layout) {
  return layout.locals +
         read_local_count(target, address, layout) * static_cast<std::uint32_t>(sizeof(std::int32_t));
}

PatchpointInfo read_patchpoint_info(const Target& target, Address address, std::uint32_t size,
                                    const PatchpointLayout& layout) {
  const std::uint32_t count = read_local_count(target, address, layout);
  if (size < layout.locals + count * sizeof(std::int32_t))
    throw_corrupt(address, fmt::format("patchpoints of {} locals in {} bytes", count, size));
  std::vector<std::byte> raw(size);
  target.read_bytes(address, raw);
  const auto field = [&](std::size_t at) {
    return load<std::int32_t>(std::span(raw).subspan(at), target.platform().byte_order);
  };
  const auto place = [&](unsigned index) {
    const std::int32_t value = field(layout.local_count + 4 * index);
    return value == absent ? std::nullopt : std::optional(value);
  };
  PatchpointInfo info{.frame_size = field(layout.local_count + 4),
                      .generic_context = place(2),
                      .kept_alive_this = place(3),
                      .security_cookie = place(4),
                      .monitor = place(5)};
  // Later releases have more fixed fields, so the locals are found from the end.
  for (std::size_t at = size - count * sizeof(std::int32_t); at < size; at += sizeof(std::int32_t))
    info.locals.push_back({.offset = field(at) >> 1, .exposed = (field(at) & exposed_bit) != 0});
  return info;
}

} // namespace clr
