// The outermost layer of a nettrace file: its blocks. Private to core/symbols.
#pragma once

#include "core/symbols/net_trace.h"
#include "core/symbols/net_trace_bytes.h"

#include <string_view>

namespace clr {

// The numbers are those of version 6.
enum class TraceBlockKind : std::uint8_t {
  end = 0,
  trace = 1,
  event = 2,
  metadata = 3,
  sequence_point = 4,
  stack = 5,
  thread = 6,
  remove_thread = 7,
  label_list = 8,
  unknown = 0xff,
};

struct TraceBlock {
  TraceBlockKind kind = TraceBlockKind::unknown;
  TraceBytes body{{}, 0};
  bool cut = false; // the file ends within the block, or its stated size cannot be true
};

// The header of an object in versions 4 and 5: its name, and the versions of readers that understand it.
struct TraceObjectHeader {
  std::string_view name;
  std::uint32_t version = 0, minimum_reader = 0;
};
// Nothing when `bytes` do not start with such a header.
std::optional<TraceObjectHeader> read_object_header(TraceBytes& bytes);

// Goes through the blocks behind the header of the file. Damage is reported in `report`.
class TraceBlocks {
public:
  TraceBlocks(std::span<const std::byte> file, std::size_t first, std::uint32_t version, TraceReport& report)
      : file_(file), at_(first), version_(version), report_(report) {}

  // False at the end of the file, also when the file is cut or damaged.
  bool next(TraceBlock& block) { return version_ >= 6 ? next_block(block) : next_object(block); }
  std::size_t offset() const { return at_; }

private:
  bool next_object(TraceBlock& block);
  bool next_block(TraceBlock& block);
  std::optional<std::size_t> find_object(std::size_t from) const;

  std::span<const std::byte> file_;
  std::size_t at_;
  std::uint32_t version_;
  TraceReport& report_;
};

} // namespace clr
