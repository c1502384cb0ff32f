#include "core/runtime/code_listing.h"

#include "core/memory/target_pointer.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

bool same_place(const ListingMark& a, const ListingMark& b) {
  if (a.mark != b.mark || a.source.has_value() != b.source.has_value()) return false;
  return !a.source || a.source->il_offset == b.source->il_offset;
}

// The name of `address`. `named` tells whether it is code with a name.
ReferenceName name_of(Runtime& runtime, Address address, const NativeNamer& native) {
  ReferenceName name{.address = address};
  const runtime::Answer answer = runtime.resolve(address);
  if (const auto* method = std::get_if<MethodAnswer>(&answer.result)) {
    name.text = method->method.shown_name();
    if (method->code.offset.value_or(0) != 0) name.text += fmt::format(" + {}", *method->code.offset);
    name.named = true;
  } else if (const auto* miss = std::get_if<MissAnswer>(&answer.result)) {
    name.text = miss->text;
    name.thunk = miss->reason == MissReason::thunk || miss->reason == MissReason::helper;
    name.named = miss->reason == MissReason::precode || miss->reason == MissReason::stub ||
                 miss->reason == MissReason::thunk || miss->reason == MissReason::helper;
    if (miss->reason == MissReason::precode && miss->method && !miss->method->shown_name().empty())
      name.text = fmt::format("{} [{}]", miss->method->shown_name(), miss->text);
    if (!name.named) {
      const std::string symbol = miss->symbol.empty() ? native(address) : miss->symbol;
      if (!symbol.empty()) {
        name.text = symbol;
        name.named = true;
      }
    }
  } else {
    name.text = std::get<FaultAnswer>(answer.result).text;
  }
  return name;
}

// The import of a ReadyToRun cell is a better name than a helper without a symbol, and better than the thunk
// of a cell that is not bound yet.
void name_by_import(Runtime& runtime, Address cell, ReferenceName& name) {
  const bool precise = name.named && !name.thunk;
  if (precise || runtime.names() == nullptr) return;
  std::optional<R2RImport> import;
  try {
    import = runtime.names()->import_at(cell);
  } catch (const std::exception&) {
    // The import cannot be read; the name stays that of the cell's target.
  }
  if (!import) return;
  name.text = name.thunk ? fmt::format("{} (not bound yet)", import->text) : import->text;
  name.named = true;
}

// The rank of a body: new calls reach the body with the lowest rank that a method has.
int rank(const runtime::Code& code) {
  switch (code.tier) {
  case Tier::tier1:
  case Tier::optimized:
    return 0;
  case Tier::instrumented_optimized:
    return 1;
  case Tier::instrumented:
    return 2;
  case Tier::tier0:
  case Tier::minopts:
    return 3;
  case Tier::osr: // entered from the middle of another body
    return 5;
  default:
    return 4;
  }
}

} // namespace

std::vector<ListingMark> listing_marks(Runtime& runtime, const CodeBlock& block, const Method& method,
                                       std::string& why) {
  std::vector<ListingMark> marks;
  SourceLines* const lines = runtime.lines();
  if (lines == nullptr) {
    why = "there is no runtime that can be read";
    return marks;
  }
  try {
    const auto map = lines->debug_info().il_map(block);
    if (map->empty()) why = "the method has no map from native code to IL";
    for (const IlStretch& stretch : map->stretches()) {
      ListingMark mark{.offset = stretch.begin, .mark = stretch.position.mark};
      if (mark.mark == IlMark::mapped) mark.source = lines->of_il(method, stretch.position.il);
      if (marks.empty() || !same_place(marks.back(), mark)) marks.push_back(std::move(mark));
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  return marks;
}

std::optional<ReferenceName> name_reference(Runtime& runtime, MemoryReader& memory,
                                            const CodeReference& reference, const NativeNamer& native) {
  try {
    std::optional<ReferenceName> name;
    if (reference.kind != CodeReference::Kind::cell) {
      name = name_of(runtime, reference.address, native);
    } else if (const auto target = pointer_at(memory, runtime.platform(), reference.address)) {
      if (*target == 0)
        name = ReferenceName{.text = "an empty cell"};
      else
        name = name_of(runtime, *target, native);
      name_by_import(runtime, reference.address, *name);
    } else {
      name = ReferenceName{.text = fmt::format("the cell at {:#x} cannot be read", reference.address)};
    }
    if (!name->named && !reference.transfers) return std::nullopt;
    return name;
  } catch (const std::exception& error) {
    return ReferenceName{.text = error.what()};
  }
}

std::vector<MethodRow> bodies_of(Runtime& runtime, const Method& method) {
  std::vector<MethodRow> bodies;
  // A hole costs only the bodies in it; the caller reports when no body is left.
  runtime.for_each_method({.glob = method.full_name}, [&](const MethodRow& row) {
    // ReadyToRun methods are listed from their image, which knows no MethodDesc.
    const bool same = row.method.method_desc != 0
                          ? row.method.method_desc == method.method_desc
                          : row.method.token == method.token && row.method.module == method.module &&
                                row.method.full_name == method.full_name;
    if (same) bodies.push_back(row);
    return true;
  });
  std::ranges::stable_sort(bodies, {}, [](const MethodRow& row) { return rank(row.code); });
  return bodies;
}

} // namespace clr
