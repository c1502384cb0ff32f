// R2R perf maps from arbitrary text, and the entries of the debug directory that refer to them.
#include "core/symbols/r2r_perf_map.h"
#include "tests/fuzz/symbol_table_check.h"

#include "core/memory/error.h"

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const R2rPerfMap map = read_r2r_perf_map(bytes, "fuzz.ni.r2rmap");
    fuzz::check(*map.symbols);
    const R2rPerfMapHeader& header = map.header;
    if (header.signature && parse_r2r_signature(digits_of(*header.signature)) != header.signature)
      __builtin_trap();
    if (header.os) to_string(*header.os);
    if (header.architecture) to_string(*header.architecture);
    if (header.abi) to_string(*header.abi);
  } catch (const Error&) {
  }
  try {
    parse_r2r_perf_map_id(bytes);
  } catch (const Error&) {
  }
  return 0;
}
