#include "core/publish/code_describer.h"

#include "core/describe/interruptions.h"
#include "core/describe/stub_code.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace clr {
namespace {

constexpr std::string_view stub_module = "clr-stubs", unnamed_module = "managed code";

// The other kinds push nothing, and data lie between their stubs.
bool pushes(StubKind kind) {
  return kind != StubKind::jump_stub && kind != StubKind::dynamic_helper;
}

std::string name_of(const UnspelledMethod& method) {
  return all_names(method.spell()).full_name;
}

bool is_dynamic(const MethodFacts& method) {
  return method.kind == MethodKind::dynamic || method.kind == MethodKind::il_stub;
}

} // namespace

CodeDescriber::CodeDescriber(UpdateRun& run)
    : run_(run), bodies_(run.runtime.target()->memory(), run.runtime.target()->platform().cpu),
      claims_(*run.runtime.target()), lines_(run.runtime), exact_(run.options.exact) {
  for (const InterruptedCode& code : run.state.interrupted) exact_.push_back(code.registers.pc().value_or(0));
  std::ranges::sort(exact_);
}

DescribedBatch CodeDescriber::batch() {
  return DescribedBatch(std::exchange(spare_, {}));
}

void CodeDescriber::recycle(std::vector<OwnedCode> used) {
  used.clear();
  if (used.capacity() > spare_.capacity()) spare_ = std::move(used);
}

void CodeDescriber::describe(CurrentCode current, DescribedBatch& batch,
                             const std::function<void(DescribedBatch&)>& enough) {
  for (const NewStubs& stubs : current.stubs_) add_stubs(stubs, pushes(stubs.kind), batch);
  const std::size_t at_once = run_.options.codes_at_once;
  std::vector<OwnedCode>& code = batch.code_;
  // Moving code is what would cost most.
  code.reserve(code.size() + std::min(current.bodies_.size(), at_once));
  std::size_t limit = at_once;
  CodeBlock block{.kind = CodeKind::jitted};
  const RangeSection* section = nullptr;
  for (const NewBody& body : current.bodies_) {
    const bool other_section = std::exchange(section, body.section) != body.section;
    if (other_section) block.section = *section;
    // Sections of modules do not reach from one code heap into another.
    if (other_section && enough && code.size() > limit) {
      enough(batch);
      limit = code.size() + at_once;
      code.reserve(limit);
    }
    if (run_.stop()) {
      // The next update finds it again.
      if (const auto heap = run_.state.heaps.find(section->begin); heap != run_.state.heaps.end())
        heap->second.node = 0;
      continue;
    }
    block.ip = block.start = body.start;
    block.method_desc = body.method_desc;
    block.code_header = body.code_header;
    run_.guarded([&] { return fmt::format("the body at {:#x}", block.start); },
                 [&] {
                   claims_.check(block.method_desc, block.start, block.code_header, BodyFound::listed);
                   FoundBody found =
                       find_body(run_.code, block, run_.runtime.describe_once(block.method_desc));
                   describe(found, batch);
                 });
  }
}

void CodeDescriber::describe(FoundBody& body, DescribedBatch& batch) {
  if (!is_believed(body)) return;
  const CatalogOptions& options = run_.options;
  // Code that somebody debugs: all its names, and variables.
  std::unique_ptr<VariableSource> source;
  if ((options.lines || options.variables) && lines_.has_symbols(body.method))
    source = std::make_unique<VariableSource>(VariableSource{body.block, body.method.spell()});
  std::string fault;
  const bool exact = exact_wanted(body);
  if (exact) run_.state.exact.insert(body.block.start);
  bodies_.describe(body, (source && options.lines) || exact, source ? &source->method : nullptr, parts_,
                   fault);
  const Owner& owner = owner_of(body);
  if (source && options.lines) {
    try {
      if (lines_.starts_machine(body.method))
        for (DescribedPart& part : parts_) part.code.set_names(kickoff_names(source->method));
      lines_.add(parts_, body, *owner.files);
    } catch (const Error& error) {
      if (fault.empty()) fault = error.what();
    }
    for (std::string& text : lines_.take_problems()) run_.problem(std::move(text));
  }
  if (!fault.empty()) run_.problem(fmt::format("{}: {}", name_of(body.method), fault));
  for (DescribedPart& part : parts_) {
    for (const InterruptedCode& code : run_.state.interrupted) add_interruption(*part.code, code);
    const auto add = [&](DescribedCode&& code) {
      batch.code_.push_back({.owner = owner.owner,
                             .code = std::move(code),
                             .range = body.block.section.begin,
                             .files = owner.files});
    };
    if (auto before = code_before_entry(*part.code); before && !run_.state.describes(before->start))
      add(part.code.with_body(std::move(*before)));
    const bool main = part.offset == 0;
    add(std::move(part.code));
    if (main && options.variables) batch.code_.back().source = std::move(source);
  }
  ++run_.methods;
  remember(body);
}

void CodeDescriber::remember(const FoundBody& body) {
  if (body.block.kind != CodeKind::jitted) return;
  const Address section = body.block.section.begin;
  run_.state.bodies.add(section, {.start = body.block.start,
                                  .method_desc = body.block.method_desc,
                                  .code_header = body.block.code_header,
                                  .seen = run_.state.updates});
  // IL stubs are never freed, though they are dynamic too. A heap that was not walked yet has no node.
  if (body.method.kind == MethodKind::dynamic) run_.state.heaps[section].dynamic = true;
}

bool CodeDescriber::is_believed(const FoundBody& body) {
  const auto believed = [&](Address begin, std::uint64_t size) {
    const auto refusal = run_.ranges.of_body(begin, size, body.block.section);
    if (refusal)
      run_.state.refuse(begin, refusal->cause, fmt::format("{} at {:#x}", name_of(body.method), begin),
                        refusal->text);
    return !refusal;
  };
  const MethodRegions& regions = body.regions;
  return believed(regions.hot_start, regions.hot_size) &&
         (regions.cold_size == 0 || believed(regions.cold_start, regions.cold_size));
}

const CodeDescriber::Owner& CodeDescriber::owner_of(const FoundBody& body) {
  const UnspelledMethod& method = body.method;
  const bool image = body.block.kind == CodeKind::ready_to_run, dynamic = is_dynamic(method);
  const std::string_view name = method.module.empty() ? unnamed_module : std::string_view(method.module);
  // Dynamic methods come and go: code that shares a module with them would come anew each time.
  const Address module = dynamic ? 0 : method.runtime_module;
  if (last_owner_ != nullptr) {
    const CodeOwner& last = *last_owner_->owner;
    if (last.module == module && last.image == image && last.file_name == name) return *last_owner_;
  }
  CodeOwner key{std::string(name), module, image};
  Owner& owner = owners_[key];
  if (!owner.owner)
    owner = {std::make_shared<const CodeOwner>(std::move(key)), std::make_shared<SourceFiles>()};
  last_owner_ = &owner;
  return owner;
}

bool CodeDescriber::exact_wanted(const FoundBody& body) const {
  const MethodRegions& regions = body.regions;
  const auto holds_wanted = [&](Address start, std::uint64_t size) {
    const auto first = std::ranges::lower_bound(exact_, start);
    return first != exact_.end() && *first - start < size;
  };
  return run_.state.exact.contains(body.block.start) || holds_wanted(regions.hot_start, regions.hot_size) ||
         (regions.cold_size != 0 && holds_wanted(regions.cold_start, regions.cold_size));
}

void CodeDescriber::describe_stubs(DescribedBatch& batch, const std::set<Address>* only) {
  for (const RangeSection& section : run_.code.sections()) {
    if (only != nullptr && !only->contains(section.begin)) continue;
    if ((section.flags & RangeSection::range_list_flag) != 0 && !run_.state.stubs.contains(section.begin))
      add_range_list(section, batch);
    if (section.r2r_module != 0)
      run_.guarded([&] { return fmt::format("the thunks of the image at {:#x}", section.begin); },
                   [&] { add_thunks(section, batch); });
    if (run_.stop()) return;
  }
}

void CodeDescriber::add_range_list(const RangeSection& section, DescribedBatch& batch) {
  if (section.end <= section.begin) return;
  run_.state.forgive(section.begin, section.begin + 1);
  if (const auto refusal = run_.ranges.of_stubs(section.begin, section.end)) {
    run_.state.refuse(section.begin, refusal->cause, fmt::format("stubs at {:#x}", section.begin),
                      refusal->text);
    return;
  }
  StubKind kind = StubKind::unknown; // it is a range of stubs all the same
  run_.guarded([&] { return fmt::format("the kind of the stubs at {:#x}", section.begin); },
               [&] { kind = stub_kind_of_section(run_.code, section); });
  NewStubs stubs{.kind = kind, .begin = section.begin, .section = section.begin, .of_list = true};
  const auto add_to = [&](Address end, const std::string& name) {
    stubs.end = end;
    add_stubs(stubs, false, batch, name);
    stubs.begin = end;
  };
  const auto& named = run_.state.named_stubs;
  for (auto stub = named.lower_bound(section.begin); stub != named.end() && stub->second.end <= section.end;
       ++stub) {
    if (stub->first < stubs.begin) continue;
    add_to(stub->first, {});
    add_to(stub->second.end, stub->second.name);
  }
  add_to(section.end, {});
}

void CodeDescriber::add_thunks(const RangeSection& section, DescribedBatch& batch) {
  const ExecutionManager::R2RImage image = run_.code.r2r_image(section);
  if (image.thunk_bytes == 0 || run_.state.stubs.contains(image.thunks)) return;
  const Address end = image.thunks + image.thunk_bytes;
  run_.state.forgive(image.thunks, image.thunks + 1);
  if (const auto refusal = run_.ranges.of_thunks(image.thunks, end, section)) {
    run_.state.refuse(image.thunks, refusal->cause, fmt::format("thunks at {:#x}", image.thunks),
                      refusal->text);
    return;
  }
  add_stubs(
      {.kind = StubKind::method_call_thunk, .begin = image.thunks, .end = end, .section = section.begin},
      true, batch);
}

void CodeDescriber::add_stubs(const NewStubs& stubs, bool follow, DescribedBatch& batch,
                              const std::string& name) {
  if (stubs.end <= stubs.begin) return;
  std::vector<std::byte> bytes;
  if (follow) {
    bytes.resize(static_cast<std::size_t>(std::min<Address>(stubs.end - stubs.begin, max_stub_block)));
    bytes.resize(run_.runtime.target()->memory().read_some(stubs.begin, bytes));
  }
  const CodeOwner key{.file_name = std::string(stub_module), .lists = stubs.of_list};
  Owner& owner = owners_[key];
  if (!owner.owner) owner.owner = std::make_shared<const CodeOwner>(key);
  DebugCode code = stub_code(run_.runtime.target()->platform(), stubs.kind, stubs.begin, stubs.end, bytes);
  if (!name.empty()) code.name = code.full_name = name;
  batch.code_.push_back({.owner = owner.owner, .code = std::move(code), .range = stubs.section, .files = {}});
  run_.state.stubs.try_emplace(stubs.begin, no_module_id);
}

} // namespace clr
