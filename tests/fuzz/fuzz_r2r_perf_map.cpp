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
    const R2rPerfMapId id = parse_r2r_perf_map_id(bytes);
    // The signature of an image does not depend on the order of its assemblies.
    const std::vector<R2rInputAssembly> some{{id.file_name, id.signature}, {"Library", {}}};
    const std::vector<R2rInputAssembly> same{some[1], some[0]};
    const auto signature = [&](const std::vector<R2rInputAssembly>& of) {
      return compute_r2r_signature(of, 1, id.version, 1);
    };
    if (some[0].name.size() != some[1].name.size() && signature(some) != signature(same)) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
