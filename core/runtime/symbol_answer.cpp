#include "core/runtime/symbol_answer.h"

#include "core/memory/path_map.h"
#include "core/runtime/code_rows.h"
#include "core/symbols/map_method_name.h"
#include "core/symbols/perf_map.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

Tier tier_of(std::string_view word) {
  static constexpr std::array tiers{Tier::tier0,
                                    Tier::tier1,
                                    Tier::osr,
                                    Tier::optimized,
                                    Tier::minopts,
                                    Tier::instrumented,
                                    Tier::instrumented_optimized};
  for (const Tier tier : tiers)
    if (perf_map_tier(tier) == word) return tier;
  return word.starts_with("PreJI") ? Tier::r2r : Tier::unknown; // "PreJIT", "PreJit-cold"
}

// Does runtime memory leave open what is at the address?
bool open_question(const MissAnswer& miss) {
  switch (miss.reason) {
  case MissReason::no_runtime:
  case MissReason::native_aot:
  case MissReason::not_started:
  case MissReason::outside:
    return true;
  case MissReason::native:
    return miss.symbol.empty();
  default:
    return false;
  }
}

void set_name(Method& method, const AddedName& found) {
  const PerfMapName parts = parse_perf_map_name(found.function);
  const auto parsed = parse_map_method(parts.method);
  const std::string text(found.kind == SymbolFileKind::nettrace ? found.function : parts.method);
  method.name = parsed ? parsed->name : text.substr(0, text.find('('));
  method.full_name = parsed ? parsed->full_name : text;
  if (parsed && !parsed->assembly.empty() && method.module.empty()) method.module = parsed->assembly;
  method.name_from = NameSource::symbols;
  const std::string by = fmt::format("named by {}", file_name_of(found.path));
  method.degraded = method.degraded.empty() ? by : fmt::format("{}; {}", by, method.degraded);
}

// A method as the answer for the address, if the file's name for it is that of managed code.
std::optional<MethodAnswer> as_method(const AddedName& found, Address address) {
  const PerfMapName parts = parse_perf_map_name(found.function);
  // Traces name only managed code.
  if (found.kind != SymbolFileKind::nettrace && (parts.stub || !parse_map_method(parts.method)))
    return std::nullopt;
  MethodAnswer answer;
  set_name(answer.method, found);
  answer.code.tier = tier_of(parts.tier);
  answer.code.kind = answer.code.tier == Tier::r2r ? CodeKind::ready_to_run : CodeKind::jitted;
  answer.code.start = found.start;
  answer.code.offset = address - found.start;
  // An entry with a line is only a part of its function; the size of the whole function is not known then.
  if (found.line == 0)
    answer.code.regions.push_back({CodePart::hot, found.start, found.size});
  else
    answer.source = SourceLine{.file = std::string(found.file), .line = found.line};
  return answer;
}

std::string with_offset(const AddedName& found, Address address) {
  std::string text(found.function.empty() ? found.file : found.function);
  if (address != found.start) text += fmt::format(" + {}", address - found.start);
  return text;
}

} // namespace

void name_by_symbols(runtime::Answer& answer, const AddedSymbols& symbols) {
  auto* const method = std::get_if<MethodAnswer>(&answer.result);
  auto* const miss = std::get_if<MissAnswer>(&answer.result);
  if (method != nullptr && method->method.qualified != nullptr) return;
  if (miss != nullptr && !open_question(*miss)) return;
  const auto found = symbols.find(answer.address);
  if (!found) return;
  if (method != nullptr) {
    set_name(method->method, *found);
    return;
  }
  if (auto named = as_method(*found, answer.address)) {
    if (const auto* fault = std::get_if<FaultAnswer>(&answer.result))
      named->method.degraded += fmt::format("; runtime memory: {}", fault->text);
    answer.result = std::move(*named);
  } else if (miss != nullptr) {
    miss->symbol = with_offset(*found, answer.address);
    miss->text += fmt::format(" (named by {})", file_name_of(found->path));
  }
}

std::string symbol_text(const AddedSymbols& symbols, Address address) {
  const auto found = symbols.find(address);
  if (!found) return {};
  return fmt::format("{} (by {})", with_offset(*found, address), file_name_of(found->path));
}

} // namespace clr
