#include "core/publish/catalog_update.h"

#include "core/describe/image_bodies.h"
#include "core/describe/interruptions.h"
#include "core/describe/stub_code.h"
#include "core/publish/unknown_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace clr {
namespace {

// Bodies between two questions whether to give up.
constexpr std::size_t bodies_per_question = 128;
// Bodies of the first call that need not be moved as more are found.
constexpr std::size_t bodies_at_first = 65'536;
// Of jitted code, the part of codes_at_once that an owner must have for a module of its own.
constexpr std::size_t least_part = 4;
constexpr std::string_view stub_module = "clr-stubs", unnamed_module = "managed code";

// The others push nothing, and data lie between them.
bool pushes(StubKind kind) {
  return kind != StubKind::jump_stub && kind != StubKind::dynamic_helper;
}

bool is_dynamic(const Method& method) {
  return method.kind == MethodKind::dynamic || method.kind == MethodKind::il_stub;
}

} // namespace

CatalogUpdate::CatalogUpdate(CatalogState& state, Runtime& runtime, const CatalogOptions& options)
    : state_(state), runtime_(runtime), options_(options), code_(*runtime.code()),
      describer_(runtime.target()->memory(), runtime.target()->platform().cpu), lines_(runtime),
      modules_(state, runtime, options, [this] { return stop(); }), last_before_(state.last_module) {
  set_exact();
}

void CatalogUpdate::problem(std::string text) {
  if (change_.problems.size() < max_problems)
    change_.problems.push_back(std::move(text));
  else
    ++more_problems_;
}

template<typename Step>
void CatalogUpdate::guarded(const std::function<std::string()>& what, const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    problem(fmt::format("{}: {}", what(), error.what()));
  }
}

bool CatalogUpdate::stop() {
  if (!stopped_ && options_.stop && ++asked_ % bodies_per_question == 0) stopped_ = options_.stop();
  return stopped_;
}

CatalogChange CatalogUpdate::all() {
  ++state_.updates;
  find_jitted();
  if (stopped_) return finish(); // what was not looked at is not gone
  find_freed();
  find_interrupted();
  find_epilogues();
  retire();
  std::vector<Address> starts;
  starts.reserve(new_bodies_.size() + described_.size());
  for (const NewBody& body : new_bodies_) starts.push_back(body.start);
  for (const OwnedCode& stub : described_) starts.push_back(stub.code.start);
  modules_.set_starts(std::move(starts));
  describe_new();
  if (options_.r2r && !stopped_) find_images();
  if (options_.stubs && !stopped_) find_stubs();
  return finish();
}

CatalogChange CatalogUpdate::one(Address ip) {
  guarded([&] { return fmt::format("the code at {:#x}", ip); },
          [&] {
            const CodeLookup found = code_.find(ip);
            const auto* const block = std::get_if<CodeBlock>(&found);
            if (block == nullptr || block->kind == CodeKind::interpreted) return;
            CodeBlock at = *block;
            at.ip = at.start;
            if (at.kind == CodeKind::ready_to_run) {
              at.function_index = at.method_index;
              if (state_.describes(at.start)) return;
              FoundBody body = find_body(code_, at, runtime_.describe(at).method);
              describe(body);
              return;
            }
            if (const RangeSection* const section = code_.section_at(at.start);
                section != nullptr && !is_known({at.start, at.method_desc, at.code_header, *section}))
              new_bodies_.push_back({at.start, at.method_desc, at.code_header, section});
          });
  retire();
  describe_new();
  return finish();
}

CatalogChange CatalogUpdate::unknown() {
  return finish();
}

void CatalogUpdate::find_jitted() {
  // Memory that is not touched costs nothing.
  if (state_.bodies.size() == 0) new_bodies_.reserve(bodies_at_first);
  static_cast<void>(code_.sections());
  if (const std::size_t holes = code_.holes().size(); holes != 0 && state_.updates == 1)
    problem(fmt::format("{} parts of the map of code ranges cannot be read, first at {:#x}", holes,
                        code_.holes().front().address));
  for (const RangeSection& section : code_.sections()) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0) continue;
    guarded([&] { return fmt::format("the code heap at {:#x}", section.begin); },
            [&] { find_heap(section); });
    if (stopped_) return;
  }
}

void CatalogUpdate::find_heap(const RangeSection& section) {
  std::optional<std::uint64_t> fingerprint;
  try {
    fingerprint = code_.heap_fingerprint(section);
  } catch (const std::exception&) {
    // A part of the map is missing: what is there is looked at each time.
  }
  const auto known = state_.heaps.find(section.begin);
  const bool same = known != state_.heaps.end() && fingerprint && !known->second.dynamic &&
                    known->second.node == section.heap_list && known->second.fingerprint == *fingerprint;
  if (same) return;
  const std::size_t holes = code_.holes().size();
  const bool dynamic = known != state_.heaps.end() && known->second.dynamic;
  state_.heaps.erase(section.begin);
  std::vector<StubBlock> stubs;
  seen_ = 0;
  const bool whole = code_.for_each_jitted_in(
      section,
      [&](const JittedBody& body) {
        if (!is_known(body))
          new_bodies_.push_back({body.start, body.method_desc, body.code_header, &section});
        return state_.bodies.size() + new_bodies_.size() < CodeCatalog::max_bodies && !stop();
      },
      [&](const StubBlock& stub) { stubs.push_back(stub); });
  for (std::size_t i = holes; i < code_.holes().size(); ++i)
    problem(fmt::format("code at {:#x}: {}", code_.holes()[i].address, code_.holes()[i].what));
  if (options_.stubs)
    for (const StubBlock& stub : stubs)
      if (!state_.stubs.contains(stub.start))
        add_stub(stub.kind, stub.start, std::min(stub.limit, stub.start + max_stub_block), section.begin,
                 pushes(stub.kind));
  // Where all that was known is still there nothing was freed.
  const bool freed = state_.bodies.size(section.begin) != seen_;
  if (freed && whole && code_.holes().size() == holes) walked_.insert(section.begin);
  // A heap that is whole need not be walked again before it changes.
  if (whole && fingerprint)
    state_.heaps[section.begin] = {
        .node = section.heap_list, .fingerprint = *fingerprint, .dynamic = dynamic};
}

bool CatalogUpdate::is_known(const JittedBody& body) {
  KnownBodies::Body* const known = state_.bodies.find(body.section.begin, body.start);
  if (known == nullptr) return false;
  const bool same = known->method_desc == body.method_desc && known->code_header == body.code_header;
  // Without a module it was given up before it was described.
  if (same && known->module != no_module_id) {
    known->seen = state_.updates;
    ++seen_;
    return true;
  }
  retired_.insert(known->module);
  state_.bodies.remove(body.section.begin, body.start);
  return false;
}

void CatalogUpdate::describe_new() {
  const std::vector<NewBody> bodies = std::exchange(new_bodies_, {});
  // Moving code is what would cost most.
  described_.reserve(described_.size() + std::min(bodies.size(), options_.codes_at_once));
  std::size_t enough = options_.codes_at_once;
  CodeBlock block{.kind = CodeKind::jitted};
  const RangeSection* section = nullptr;
  for (const NewBody& body : bodies) {
    const bool other_section = std::exchange(section, body.section) != body.section;
    if (other_section) block.section = *section;
    // Sections of modules do not reach from one code heap into another.
    if (other_section && described_.size() > enough) {
      make_large_modules();
      enough = described_.size() + options_.codes_at_once;
      described_.reserve(enough);
    }
    if (stop()) {
      // The next call finds them again.
      state_.heaps.erase(section->begin);
      continue;
    }
    block.ip = block.start = body.start;
    block.method_desc = body.method_desc;
    block.code_header = body.code_header;
    guarded([&] { return fmt::format("the body at {:#x}", block.start); },
            [&] {
              FoundBody found =
                  find_body(code_, block, runtime_.describe_once(block.method_desc, Spelling::later));
              describe(found);
            });
  }
}

void CatalogUpdate::find_images() {
  const bool any = !state_.spans.empty(); // before this update
  for (const RangeSection& section : code_.sections()) {
    if (section.r2r_module == 0 || state_.images.contains(section.begin)) continue;
    guarded([&] { return fmt::format("the ReadyToRun image at {:#x}", section.begin); },
            [&] {
              // Room at once: moving code is what would cost most.
              const std::size_t room =
                  std::min<std::size_t>(code_.r2r_image(section).function_count, options_.codes_at_once);
              described_.reserve(described_.size() + room);
              for_each_image_body(
                  runtime_, section,
                  [&](FoundBody& body) {
                    runtime_.names()->add_user_method(body.method);
                    if (!any || !state_.describes(body.block.start)) describe(body);
                    if (described_.size() > options_.codes_at_once) {
                      // The last one may still turn out to reach into the next.
                      OwnedCode last = std::move(described_.back());
                      described_.pop_back();
                      make_modules();
                      described_.reserve(room);
                      described_.push_back(std::move(last));
                    }
                    return !stop();
                  },
                  [&](Method& method, const std::string& fault) {
                    method.spell();
                    problem(fmt::format("{}: {}", method.full_name, fault));
                  },
                  Spelling::later);
            });
    if (stopped_) return;
    state_.images[section.begin] = {section.end, section.r2r_module};
    // An image is whole: what takes its modules need not wait for the others.
    make_modules();
  }
}

void CatalogUpdate::find_stubs() {
  for (const RangeSection& section : code_.sections()) {
    if ((section.flags & RangeSection::range_list_flag) != 0 && !state_.stubs.contains(section.begin))
      add_stub(stub_kind_of_section(code_, section), section.begin, section.end, section.begin, false);
    if (section.r2r_module == 0) continue;
    guarded([&] { return fmt::format("the thunks of the image at {:#x}", section.begin); },
            [&] {
              const ExecutionManager::R2RImage image = code_.r2r_image(section);
              if (image.thunk_bytes != 0 && !state_.stubs.contains(image.thunks))
                add_stub(StubKind::method_call_thunk, image.thunks, image.thunks + image.thunk_bytes,
                         section.begin, true);
            });
    if (stop()) return;
  }
}

// `follow`: the stubs begin at `begin`, so that their instructions can be followed.
void CatalogUpdate::add_stub(StubKind kind, Address begin, Address end, Address range, bool follow) {
  if (end <= begin) return;
  std::vector<std::byte> bytes;
  if (follow) {
    bytes.resize(static_cast<std::size_t>(std::min<Address>(end - begin, max_stub_block)));
    bytes.resize(runtime_.target()->memory().read_some(begin, bytes));
  }
  const Platform& platform = runtime_.target()->platform();
  Owner& owner = owners_[CodeOwner{std::string(stub_module), 0, false}];
  if (!owner.owner)
    owner.owner = std::make_shared<const CodeOwner>(CodeOwner{std::string(stub_module), 0, false});
  described_.push_back(
      {.owner = owner.owner, .code = stub_code(platform, kind, begin, end, bytes), .range = range});
  state_.stubs.try_emplace(begin, no_module_id);
}

const CatalogUpdate::Owner& CatalogUpdate::owner_of(const FoundBody& body) {
  const Method& method = body.method;
  const bool image = body.block.kind == CodeKind::ready_to_run, dynamic = is_dynamic(method);
  const std::string_view name = method.module.empty() ? unnamed_module : std::string_view(method.module);
  // Dynamic methods come and go: what they share a module with would come anew each time.
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

bool CatalogUpdate::exact_wanted(const FoundBody& body) const {
  const MethodRegions& regions = body.regions;
  const auto holds_wanted = [&](Address start, std::uint64_t size) {
    const auto first = std::ranges::lower_bound(exact_, start);
    return first != exact_.end() && *first - start < size;
  };
  return state_.exact.contains(body.block.start) || holds_wanted(regions.hot_start, regions.hot_size) ||
         (regions.cold_size != 0 && holds_wanted(regions.cold_start, regions.cold_size));
}

void CatalogUpdate::describe(FoundBody& body) {
  const bool symbols = (options_.lines || options_.variables) && lines_.has_symbols(body.method);
  if (symbols) body.method.spell();
  std::string fault;
  const bool exact = exact_wanted(body);
  if (exact) state_.exact.insert(body.block.start);
  describer_.describe(body, (symbols && options_.lines) || exact, symbols ? NameForms::all : NameForms::few,
                      parts_, fault);
  const Owner& owner = owner_of(body);
  if (symbols && options_.lines) {
    try {
      lines_.add(parts_, body, *owner.files);
    } catch (const std::exception& error) {
      if (fault.empty()) fault = error.what();
    }
  }
  if (!fault.empty()) {
    body.method.spell();
    problem(fmt::format("{}: {}", body.method.shown_name(), fault));
  }
  const auto add = [&](DebugCode&& code) {
    described_.push_back({owner.owner, std::move(code), body.block.section.begin, owner.files});
  };
  for (DescribedPart& part : parts_) {
    for (const InterruptedCode& code : state_.interrupted) add_interruption(part.code, code);
    if (auto before = code_before_entry(part.code); before && !state_.describes(before->start))
      add(std::move(*before));
    add(std::move(part.code));
  }
  ++change_.methods;
  if (body.block.kind == CodeKind::jitted) {
    state_.bodies.add(body.block.section.begin, {.start = body.block.start,
                                                 .method_desc = body.block.method_desc,
                                                 .code_header = body.block.code_header,
                                                 .seen = state_.updates});
    // IL stubs are never freed, though they are dynamic too.
    if (body.method.kind == MethodKind::dynamic)
      if (const auto heap = state_.heaps.find(body.block.section.begin); heap != state_.heaps.end())
        heap->second.dynamic = true;
  }
  if (symbols && options_.variables)
    modules_.add_source(body.block.start, body.block, std::move(body.method));
}

void CatalogUpdate::resolve_overlaps() {
  // What a retired module held is described anew, and may meet others in its turn. Modules of before this
  // update become fewer each time.
  while (true) {
    for (OwnedCode& owned : described_) {
      std::set<ModuleId> met;
      state_.modules_in(owned.code.start, owned.code.start + owned.code.size, met);
      for (const ModuleId id : met) {
        if (id > last_before_)
          owned.code.size = 0; // this very update found other code there: one of them is a lie
        else
          retired_.insert(id);
      }
    }
    if (retired_.empty()) return;
    retire();
    describe_new();
  }
}

void CatalogUpdate::make_modules() {
  resolve_overlaps();
  modules_.make(pointers_to(described_));
  described_.clear(); // it keeps its memory: to touch other memory costs more than to describe code
}

void CatalogUpdate::make_large_modules() {
  resolve_overlaps();
  std::map<const CodeOwner*, std::size_t> codes;
  for (const OwnedCode& owned : described_) ++codes[owned.owner.get()];
  const auto is_large = [&](const OwnedCode& owned) {
    return codes.at(owned.owner.get()) >= options_.codes_at_once / least_part;
  };
  std::vector<OwnedCode*> large = pointers_to(described_);
  std::erase_if(large, [&](const OwnedCode* owned) { return !is_large(*owned); });
  modules_.make(std::move(large));
  std::erase_if(described_, is_large);
}

// Behind everything else: what is described takes its place.
void CatalogUpdate::make_unknown() {
  UnknownCode unknown(state_, runtime_);
  const auto make = [&](std::vector<OwnedCode> code) { modules_.make(pointers_to(code)); };
  if (options_.grows) make(unknown.rests_of_heaps());
  if (!options_.executable.empty()) make(unknown.outside_of_sections(options_.executable));
}

CatalogChange CatalogUpdate::finish() {
  make_modules();
  guarded([] { return std::string("code that nothing describes"); }, [&] { make_unknown(); });
  change_.added = modules_.take();
  if (const std::size_t dropped = modules_.dropped(); dropped != 0)
    problem(fmt::format("{} stretches of code overlap others and are left out", dropped));
  if (more_problems_ != 0) change_.problems.push_back(fmt::format("and {} more", more_problems_));
  change_.complete = !stopped_;
  return std::move(change_);
}

} // namespace clr
