// Blocks of debug info from arbitrary bytes: IL maps and variables in every coding. The first byte chooses.
#include "core/debuginfo/bounds.h"
#include "core/debuginfo/variables.h"

using namespace clr;

namespace {

void look_up(const IlMap& map) {
  std::uint64_t end = 0;
  for (const IlStretch& stretch : map.stretches()) {
    if (stretch.begin < end || stretch.end <= stretch.begin) {
      if (stretch.begin != IlMap::open_end) __builtin_trap();
    }
    // The two ways to ask agree.
    if (!(map.at(stretch.begin, NativeOffsetKind::exact) == stretch.position)) __builtin_trap();
    end = stretch.end;
    map.stretches_of(stretch.position.il);
  }
  map.maps_any();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const DebugInfoChunk chunk{.address = 0x1000,
                             .bytes = std::as_bytes(std::span(data + 1, size - 1)),
                             .memory_ends = (data[0] & 0x80) != 0};
  const unsigned choice = data[0] % 3;
  try {
    if ((data[0] & 0x40) != 0)
      decode_variables(chunk, static_cast<VariablesCoding>(choice), (data[0] & 0x20) != 0);
    else
      look_up(IlMap(decode_bounds(chunk, static_cast<BoundsCoding>(choice))));
  } catch (const Error&) {
  }
  return 0;
}
