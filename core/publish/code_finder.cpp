#include "core/publish/code_finder.h"

#include "core/describe/line_rows.h"
#include "core/describe/stub_code.h"
#include "core/isa/architecture.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace clr {
namespace {

// Bodies of the first update that need not be moved as more are found.
constexpr std::size_t bodies_at_first = 65'536;
// Methods with exact epilogues; each is described anew once.
constexpr std::size_t max_exact = 10'000;
constexpr std::size_t max_repeated = 10'000; // methods

} // namespace

FoundCode CodeFinder::everything() {
  find_unwanted();
  found_.outdated_.merge(unwanted_);
  find_heaps();
  if (run_.stopped()) return std::move(found_);
  find_freed();
  find_interrupted();
  find_epilogues();
  return std::move(found_);
}

std::optional<FoundCode> CodeFinder::at(const CodeAtPlaces& placed) {
  find_unwanted();
  unwanted_.insert(placed.renamed.begin(), placed.renamed.end());
  find_interrupted();
  find_epilogues();
  for (const CodeBlock& block : placed.jitted) {
    const RangeSection* const section = code_.section_at(block.start);
    if (section == nullptr || is_known({block.start, block.method_desc, block.code_header, *section}))
      continue;
    find_replaced(block);
    found_.bodies_.push_back({block.start, block.method_desc, block.code_header, section});
  }
  for (const Address begin : placed.stub_heaps) {
    const RangeSection* const section = code_.section_at(begin);
    if (section == nullptr || !run_.options.stubs) continue;
    run_.guarded([&] { return fmt::format("the stubs of the code heap at {:#x}", begin); },
                 [&] {
                   code_.for_each_jitted_in(
                       *section, walk_, [](const JittedBody&) { return true; },
                       [&](const StubBlock& stub) { find_stub(*section, stub); });
                 });
  }
  found_.outdated_.erase(no_module_id);
  if (found_.outdated_.empty()) {
    found_.outdated_ = std::move(unwanted_);
    return std::move(found_);
  }
  found_.bodies_.clear();
  found_.stubs_.clear();
  return std::nullopt;
}

void CodeFinder::find_replaced(const CodeBlock& block) {
  const MethodRegions regions = code_.regions(block);
  run_.state.described_in(regions.hot_start, regions.hot_start + regions.hot_size, found_.outdated_);
}

FoundCode CodeFinder::at(const CodeBlock& block) {
  if (block.kind == CodeKind::interpreted) return std::move(found_);
  if (const RangeSection* const section = code_.section_at(block.start);
      section != nullptr && !is_known({block.start, block.method_desc, block.code_header, *section}))
    found_.bodies_.push_back({block.start, block.method_desc, block.code_header, section});
  return std::move(found_);
}

void CodeFinder::find_heaps() {
  if (run_.first) found_.bodies_.reserve(bodies_at_first);
  const std::vector<RangeSection>& sections = code_.sections();
  if (const std::size_t holes = code_.holes().size(); holes != 0 && run_.state.updates == 1)
    run_.problem(fmt::format("{} parts of the map of code ranges cannot be read, first at {:#x}", holes,
                             code_.holes().front().address));
  for (const RangeSection& section : sections) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0) continue;
    if ((section.flags & RangeSection::interpreter) != 0) continue; // byte code is no code for a CPU
    run_.guarded([&] { return fmt::format("the code heap at {:#x}", section.begin); },
                 [&] { find_heap(section); });
    if (run_.stopped() || walk_.spent()) return;
  }
}

void CodeFinder::find_heap(const RangeSection& section) {
  CatalogState& state = run_.state;
  std::optional<std::uint64_t> fingerprint;
  try {
    fingerprint = code_.heap_fingerprint(section);
  } catch (const Error&) {
    // A part of the map is missing: the heap is looked at each time, and the walk below tells of the part.
  }
  const auto known = state.heaps.find(section.begin);
  const bool same = known != state.heaps.end() && fingerprint && !known->second.dynamic &&
                    known->second.node == section.heap_list && known->second.fingerprint == *fingerprint;
  if (same) return;
  const std::size_t holes = code_.holes().size();
  const bool dynamic = known != state.heaps.end() && known->second.dynamic;
  state.heaps.erase(section.begin);
  state.forgive(section.begin, section.end);
  seen_ = 0;
  const bool whole = code_.for_each_jitted_in(
      section, walk_,
      [&](const JittedBody& body) {
        if (!is_known(body))
          found_.bodies_.push_back({body.start, body.method_desc, body.code_header, &section});
        return state.bodies.size() + found_.bodies_.size() < CodeCatalog::max_bodies && !run_.stop();
      },
      [&](const StubBlock& stub) { find_stub(section, stub); });
  for (std::size_t i = holes; i < code_.holes().size(); ++i)
    run_.problem(fmt::format("code at {:#x}: {}", code_.holes()[i].address, code_.holes()[i].what));
  // Where all that was known is still there nothing was freed.
  const bool freed = state.bodies.size(section.begin) != seen_;
  if (freed && whole && code_.holes().size() == holes) walked_.insert(section.begin);
  // A heap that is whole need not be walked again before it changes.
  if (whole && fingerprint)
    state.heaps[section.begin] = {.node = section.heap_list, .fingerprint = *fingerprint, .dynamic = dynamic};
}

void CodeFinder::find_stub(const RangeSection& section, const StubBlock& stub) {
  if (!run_.options.stubs || run_.state.stubs.contains(stub.start)) return;
  // Where code is still compiled the rest of the last stubs' block may become a method's.
  const Address end = run_.options.grows ? stub.least_limit : stub.limit;
  found_.stubs_.push_back({.kind = stub.kind,
                           .begin = stub.start,
                           .end = std::min(end, stub.start + max_stub_block),
                           .section = section.begin});
}

bool CodeFinder::is_known(const JittedBody& body) {
  CatalogState& state = run_.state;
  KnownBodies::Body* const known = state.bodies.find(body.section.begin, body.start);
  if (known == nullptr) return false;
  const bool same = known->method_desc == body.method_desc && known->code_header == body.code_header;
  // A body without a module was given up before it was published.
  if (same && known->module != no_module_id) {
    known->seen = state.updates;
    ++seen_;
    return true;
  }
  found_.outdated_.insert(known->module);
  state.bodies.remove(body.section.begin, body.start);
  if (!same) state.forget_choices(body.start);
  return false;
}

void CodeFinder::find_freed() {
  CatalogState& state = run_.state;
  std::set<Address> live;
  for (const RangeSection& section : code_.sections())
    if ((section.flags & RangeSection::code_heap) != 0) live.insert(section.begin);
  std::erase_if(state.heaps, [&](const auto& heap) { return !live.contains(heap.first); });
  std::erase_if(state.refused, [&](const auto& range) { return code_.section_at(range.first) == nullptr; });
  std::erase_if(state.named_stubs, [&](const auto& stub) { return code_.section_at(stub.first) == nullptr; });
  const bool lost = state.bodies.any_heap([&](Address heap) { return !live.contains(heap); });
  if (lost || !walked_.empty()) find_freed_bodies(live);
  for (auto image = state.images.begin(); image != state.images.end();) {
    const RangeSection* const now = code_.section_at(image->first);
    if (now != nullptr && now->begin == image->first && now->r2r_module == image->second.module) {
      ++image;
      continue;
    }
    state.modules_in(image->first, image->second.end, found_.outdated_);
    image = state.images.erase(image);
  }
}

void CodeFinder::find_freed_bodies(const std::set<Address>& live) {
  run_.state.bodies.remove_if([&](Address heap, const KnownBodies::Body& body) {
    const bool gone = !live.contains(heap) || (walked_.contains(heap) && body.seen != run_.state.updates);
    if (gone) {
      found_.outdated_.insert(body.module);
      run_.state.forget_choices(body.start);
    }
    return gone;
  });
}

void CodeFinder::find_unwanted() {
  CatalogState& state = run_.state;
  const CatalogOptions& options = run_.options;
  const bool reconsider = std::exchange(state.reconsider, false);
  if (reconsider)
    for (const auto& [id, made] : state.made) {
      const bool symbols = (options.lines || options.variables) && has_symbols(run_.runtime, made.owner);
      if ((made.image && !options.r2r) || made.lines != (options.lines && symbols) ||
          made.variables != (options.variables && symbols))
        unwanted_.insert(id);
    }
  if (options.variables) find_repeated();
  if (!reconsider && unwanted_.empty()) return;
  std::erase_if(state.images, [&](const auto& image) {
    std::set<ModuleId> modules;
    state.described_in(image.first, image.second.end, modules);
    return !options.r2r || std::ranges::any_of(modules, [&](ModuleId id) { return unwanted_.contains(id); });
  });
}

void CodeFinder::find_repeated() {
  for (const Address place : run_.options.repeated) {
    if (run_.state.repeated.size() >= max_repeated)
      return run_.problem(fmt::format("arguments of no more than {} methods are locals", max_repeated));
    run_.guarded([&] { return fmt::format("the code at {:#x}", place); },
                 [&] {
                   const CodeLookup found = code_.find(place);
                   const auto* const block = std::get_if<CodeBlock>(&found);
                   if (block == nullptr || !run_.state.repeated.insert(block->start).second) return;
                   run_.state.described_in(block->start, block->start + 1, unwanted_);
                 });
  }
}

void CodeFinder::find_interrupted() {
  if (std::exchange(faults_found_, true)) return;
  InterruptedCodes found = interrupted_codes(*run_.runtime.target());
  for (std::string& text : found.problems) run_.problem(std::move(text));
  std::vector<InterruptedCode>& now = found.codes;
  const auto outdate_changed = [&](const std::vector<InterruptedCode>& from,
                                   const std::vector<InterruptedCode>& to) {
    for (const InterruptedCode& code : from)
      if (std::ranges::find(to, code) == to.end()) outdate_at(code.registers.pc().value_or(0));
  };
  outdate_changed(run_.state.interrupted, now);
  outdate_changed(now, run_.state.interrupted);
  run_.state.interrupted = std::move(now);
}

// Code without lines where a thread stands in an epilogue that a debugger does not work out by itself.
void CodeFinder::find_epilogues() {
  const auto leaves_by_indirect_jump =
      architecture_of(run_.runtime.target()->platform().cpu).leaves_by_indirect_jump;
  if (leaves_by_indirect_jump == nullptr) return;
  LineRows lines(run_.runtime);
  for (const Address ip : run_.options.exact) {
    if (!run_.state.describes(ip) || !leaves_by_indirect_jump(run_.runtime.target()->memory(), ip)) continue;
    if (run_.state.exact.size() >= max_exact)
      return run_.problem(fmt::format("no epilogues beyond those of {} methods are described", max_exact));
    run_.guarded([&] { return fmt::format("the epilogue at {:#x}", ip); },
                 [&] {
                   const CodeLookup found = code_.find(ip);
                   const auto* const block = std::get_if<CodeBlock>(&found);
                   if (block == nullptr) return;
                   // Code with lines has rows for its epilogues from the start.
                   if (run_.options.lines && lines.has_symbols(run_.runtime.describe(*block).method)) return;
                   if (run_.state.exact.insert(block->start).second) outdate_at(ip);
                 });
  }
}

void CodeFinder::outdate_at(Address ip) {
  std::set<ModuleId> met;
  run_.state.modules_in(ip, ip + 1, met);
  if (met.empty()) return;
  found_.outdated_.merge(met);
  if (const RangeSection* const section = code_.section_at(ip)) run_.state.images.erase(section->begin);
}

} // namespace clr
