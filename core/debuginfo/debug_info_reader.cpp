#include "core/debuginfo/debug_info_reader.h"

#include "core/execution/ready_to_run.h"
#include "core/isa/architecture.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

// Flags in front of jitted code's debug info.
constexpr unsigned has_patchpoints = 1, has_rich_info = 2;
// The longest header: seven integers of 11 nibbles.
constexpr std::size_t header_bytes = 39;
// The first integer of a header with more than two sizes.
constexpr std::uint32_t net10_mark = 0xFFFF'FFFF, net11_mark = 0;

std::uint32_t checked_size(Address at, std::uint32_t size) {
  if (size > DebugInfoReader::max_part_bytes)
    throw_corrupt(at, fmt::format("a part of {} bytes in debug info", size));
  return size;
}

} // namespace

DebugInfoFormat DebugInfoReader::format_of(const CodeBlock& block) {
  if (block.kind != CodeKind::ready_to_run) {
    if (!jitted_format_) jitted_format_ = jitted_debug_info_format(manager_->target());
    return *jitted_format_;
  }
  const Address header = manager_->r2r_image(block.section).header;
  const auto known = r2r_formats_.find(header);
  if (known != r2r_formats_.end()) return known->second;
  const unsigned major = read_r2r_major_version(manager_->target(), header);
  return r2r_formats_.emplace(header, debug_info_format(major)).first->second;
}

DebugInfoReader::Parts DebugInfoReader::parts_of(const DebugInfoFormat& format,
                                                 const DebugInfoLocation& location) {
  if (location.address == 0) return {};
  if (format.header == DebugInfoFormat::Header::slim_or_fat || !location.has_flag_byte)
    return read_header(format, location.address);
  const Target& target = manager_->target();
  Address at = location.address;
  const unsigned flags = target.read_u8(at++);
  if ((flags & ~(has_patchpoints | has_rich_info)) != 0)
    throw_corrupt(location.address, fmt::format("flags {:#x} of debug info", flags));
  Part patchpoints;
  if ((flags & has_patchpoints) != 0) {
    patchpoints = {.address = at, .size = patchpoint_info_size(target, at, format.patchpoints)};
    at += patchpoints.size;
  }
  if ((flags & has_rich_info) != 0) {
    const std::uint32_t size = checked_size(at, target.read_u32(at));
    at += sizeof(std::uint32_t) + size;
  }
  Parts parts = read_header(format, at);
  parts.patchpoints = patchpoints;
  return parts;
}

DebugInfoReader::Parts DebugInfoReader::read_header(const DebugInfoFormat& format, Address address) {
  // The blob may lie at the end of its memory and may be shorter than the longest header.
  std::array<std::byte, header_bytes> raw;
  const std::size_t have = manager_->target().memory().read_some(address, raw);
  const DebugInfoChunk chunk{
      .address = address, .bytes = std::span(raw).first(have), .memory_ends = have < raw.size()};
  NibbleReader in(chunk);
  const auto size = [&] { return checked_size(address, in.u32()); };
  Parts parts;
  const std::uint32_t first = in.u32();
  const bool marked = format.header == DebugInfoFormat::Header::marked && first == net10_mark;
  const bool fat = format.header == DebugInfoFormat::Header::slim_or_fat && first == net11_mark;
  parts.bounds.size = marked || fat ? size() : checked_size(address, first);
  if (marked) parts.original_bounds.size = size();
  parts.variables.size = size();
  if (fat) {
    parts.original_bounds.size = size();
    parts.patchpoints.size = size();
    size(); // rich info
    size(); // suspension points of async methods
  }
  Address at = address + in.next_byte();
  const auto place = [&](Part& part) {
    part.address = at;
    at += part.size;
  };
  place(parts.bounds);
  if (fat) {
    place(parts.variables);
    place(parts.original_bounds);
    place(parts.patchpoints);
  } else {
    place(parts.original_bounds);
    place(parts.variables);
  }
  return parts;
}

std::vector<std::byte> DebugInfoReader::read(const Part& part) {
  std::vector<std::byte> bytes(part.size);
  if (part.size != 0) manager_->target().read_bytes(part.address, bytes);
  return bytes;
}

std::shared_ptr<const IlMap> DebugInfoReader::il_map(const CodeBlock& block) {
  if (const auto known = maps_.find(block.start); known != maps_.end()) return known->second;
  const DebugInfoFormat format = format_of(block);
  const Parts parts = parts_of(format, manager_->debug_info(block));
  const Part& part = parts.original_bounds.size != 0 ? parts.original_bounds : parts.bounds;
  const std::vector<std::byte> bytes = read(part);
  auto map =
      std::make_shared<const IlMap>(decode_bounds({.address = part.address, .bytes = bytes}, format.bounds));
  const std::size_t size = map->boundaries().size();
  if (maps_.size() >= max_kept_maps || kept_boundaries_ + size > max_kept_boundaries) {
    maps_.clear();
    kept_boundaries_ = 0;
  }
  maps_.emplace(block.start, map);
  kept_boundaries_ += size;
  return map;
}

IlPosition DebugInfoReader::il_position(const CodeBlock& block, NativeOffsetKind kind) {
  const auto map = il_map(block);
  if (map->empty()) return {};
  return map->at(manager_->relative_offset(block), kind);
}

std::vector<debuginfo::Variable> DebugInfoReader::variables(const CodeBlock& block) {
  const DebugInfoFormat format = format_of(block);
  const Part part = parts_of(format, manager_->debug_info(block)).variables;
  if (part.size == 0) return {};
  const std::vector<std::byte> bytes = read(part);
  return decode_variables({.address = part.address, .bytes = bytes}, format.variables,
                          architecture_of(manager_->target().platform().cpu).jit.offsets_in_words);
}

std::optional<PatchpointInfo> DebugInfoReader::patchpoint_info(const CodeBlock& block) {
  const DebugInfoFormat format = format_of(block);
  const Part part = parts_of(format, manager_->debug_info(block)).patchpoints;
  if (part.size == 0) return std::nullopt;
  return read_patchpoint_info(manager_->target(), part.address, part.size, format.patchpoints);
}

} // namespace clr
