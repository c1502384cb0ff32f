#include "core/symbols/net_trace_blocks.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

constexpr std::byte null_tag{1}, begin_tag{5}, end_tag{6};
constexpr std::size_t max_object_name = 64;   // bytes; the longest known name has 13
constexpr std::size_t trace_object_size = 48; // bytes; only this object does not state its size
constexpr std::size_t alignment = 4;

TraceBlockKind kind_of_object(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, TraceBlockKind>, 5> names{
      {{"Trace", TraceBlockKind::trace},
       {"EventBlock", TraceBlockKind::event},
       {"MetadataBlock", TraceBlockKind::metadata},
       {"StackBlock", TraceBlockKind::stack},
       {"SPBlock", TraceBlockKind::sequence_point}}};
  for (const auto& [known, kind] : names)
    if (name == known) return kind;
  return TraceBlockKind::unknown;
}

TraceBlockKind kind_of_number(std::uint32_t number) {
  return number <= static_cast<std::uint32_t>(TraceBlockKind::label_list)
             ? static_cast<TraceBlockKind>(number)
             : TraceBlockKind::unknown;
}

} // namespace

std::optional<TraceObjectHeader> read_object_header(TraceBytes& bytes) {
  try {
    for (const std::byte tag : {begin_tag, begin_tag, null_tag})
      if (std::byte{bytes.u8()} != tag) return std::nullopt;
    TraceObjectHeader header;
    header.version = bytes.u32();
    header.minimum_reader = bytes.u32();
    const std::uint32_t size = bytes.u32();
    if (size > max_object_name) return std::nullopt;
    const auto name = bytes.take(size);
    header.name = {reinterpret_cast<const char*>(name.data()), name.size()};
    if (std::byte{bytes.u8()} != end_tag) return std::nullopt;
    return header;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Finds the next known object behind an end tag.
std::optional<std::size_t> TraceBlocks::find_object(std::size_t from) const {
  static constexpr char mark[] = {6, 5, 5, 1};
  const std::string_view text(reinterpret_cast<const char*>(file_.data()), file_.size());
  for (std::size_t at = from; (at = text.find({mark, sizeof mark}, at)) != std::string_view::npos; ++at) {
    TraceBytes bytes(file_.subspan(at + 1), at + 1);
    const auto header = read_object_header(bytes);
    if (header && kind_of_object(header->name) != TraceBlockKind::unknown) return at + 1;
  }
  return std::nullopt;
}

bool TraceBlocks::next_object(TraceBlock& block) {
  if (at_ >= file_.size()) return false;
  if (file_[at_] == null_tag) {
    report_.complete = true;
    return false;
  }
  TraceBytes bytes(file_.subspan(at_), at_);
  const auto header = read_object_header(bytes);
  std::size_t body = static_cast<std::size_t>(bytes.offset()), size = trace_object_size;
  bool sized = header.has_value();
  if (sized) block.kind = kind_of_object(header->name);
  if (sized && block.kind != TraceBlockKind::trace) try {
      size = bytes.u32();
      bytes.align(alignment);
      body = static_cast<std::size_t>(bytes.offset());
    } catch (const Error&) {
      sized = false;
    }

  block.cut = false;
  if (sized && size < file_.size() - body && file_[body + size] == end_tag) {
    block.body = TraceBytes(file_.subspan(body, size), body);
    at_ = body + size + 1;
    return true;
  }
  // The stated size is wrong, or the file ends here.
  const auto next = find_object(sized ? body : at_);
  const std::size_t stated = sized && size < file_.size() - body ? body + size : file_.size();
  if (!sized && (next || file_[at_] != begin_tag))
    report_.malformed.count(TraceFaultKind::no_block, at_);
  else if (next || stated < file_.size())
    report_.malformed.count(TraceFaultKind::unended_block, at_);
  const std::size_t end = next ? *next - 1 : stated;
  at_ = next.value_or(file_.size());
  if (!sized) return next && next_object(block);
  block.body = TraceBytes(file_.subspan(body, end - body), body);
  block.cut = true;
  return true;
}

bool TraceBlocks::next_block(TraceBlock& block) {
  constexpr std::size_t header_size = 4;
  constexpr std::uint32_t size_mask = 0xff'ffff;
  if (file_.size() - at_ < header_size) return false;
  TraceBytes bytes(file_.subspan(at_), at_);
  const std::uint32_t header = bytes.u32();
  block.kind = kind_of_number(header >> 24);
  if (block.kind == TraceBlockKind::end) {
    report_.complete = true;
    return false;
  }
  const std::size_t size = header & size_mask;
  block.cut = size > bytes.left();
  block.body = bytes.part(std::min(size, bytes.left()));
  at_ = static_cast<std::size_t>(bytes.offset());
  return true;
}

} // namespace clr
