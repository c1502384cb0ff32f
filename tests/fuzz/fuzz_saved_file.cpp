// Files of this library's own and of systems: the summary of a heap (`clr heap --save`, first byte 0) and
// compressed cores (1 gzip, 2 zstd, 3 lz4; `clr core`).
#include "core/report/heap_summary_file.h"
#include "core/report/stream_decoder.h"
#include "tests/fuzz/attempt.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

using namespace clr;
using namespace clr::fuzz;

namespace {

void require(bool fact) {
  if (!fact) std::abort();
}

void read_summary(std::string_view text) {
  const HeapSummary summary = parse_heap_summary(text, "saved");
  for (std::size_t i = 1; i < summary.types.size(); ++i)
    require(summary.types[i - 1].name <= summary.types[i].name);
  const HeapSummary again = parse_heap_summary(heap_summary_text(summary), "again");
  require(again.types.size() == summary.types.size() && again.all.bytes == summary.all.bytes);
  to_json(compare(summary, again), "again");
  HeapSummary other = summary;
  if (!other.types.empty()) {
    other.types.front().name += "?";
    other.types.back().count.bytes ^= 8;
  }
  to_json(compare(summary, other), "other");
  compare(summary, {.all = {}, .free = {}, .types = {}, .warnings = {}}, {.glob = "*a*", .by_count = true});
}

// As unpack_core takes a file, in pieces that are smaller.
void unpack(StreamDecoder& decoder, std::span<const std::byte> packed) {
  constexpr std::size_t piece = 64, most = 1 << 20;
  std::array<std::byte, 256> out;
  std::size_t made = 0;
  while (!packed.empty() && made < most) {
    const StreamDecoder::Step step = decoder.decode(packed.first(std::min(piece, packed.size())), out);
    require(step.used <= std::min(piece, packed.size()) && step.made <= out.size());
    if (step.used == 0 && step.made == 0) return;
    packed = packed.subspan(step.used);
    made += step.made;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  attempt([&] {
    switch (data[0] & 3) {
    case 0:
      return read_summary({reinterpret_cast<const char*>(rest.data()), rest.size()});
    case 1:
      return unpack(*gzip_decoder(), rest);
    case 2:
      return unpack(*zstd_decoder(), rest);
    default:
      return unpack(*lz4_decoder(), rest);
    }
  });
  return 0;
}
