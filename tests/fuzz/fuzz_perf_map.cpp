// Perf maps from arbitrary text, and the parts of the names in them.
#include "core/symbols/load_symbols.h"
#include "core/symbols/map_method_name.h"
#include "core/symbols/perf_map.h"
#include "tests/fuzz/symbol_table_check.h"

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  symbol_file_kind(bytes);
  const PerfMap map = read_perf_map(bytes, "fuzz.map");
  fuzz::check(*map.symbols);
  for (const symbols::Symbol& symbol : *map.symbols) {
    parse_map_method(parse_perf_map_name(symbol.function).method);
    process_of_file_name(symbol.function);
  }
  return 0;
}
