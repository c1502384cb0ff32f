#include "core/publish/code_catalog.h"

#include "core/publish/body_description.h"
#include "core/publish/code_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace clr {
namespace {

constexpr std::size_t max_problems = 32;
constexpr std::uint64_t no_module = 0;
// Bodies between two questions whether to give up.
constexpr std::size_t bodies_per_question = 256;

CodeBlock block_of(const JittedBody& body) {
  CodeBlock block;
  block.ip = block.start = body.start;
  block.method_desc = body.method_desc;
  block.kind = CodeKind::jitted;
  block.section = body.section;
  block.code_header = body.code_header;
  return block;
}

} // namespace

struct CodeCatalog::Impl {
  struct Known {
    Address end = 0;
    Address method_desc = 0, code_header = 0;
    std::uint64_t module = 0; // id
    std::uint64_t seen = 0;   // number of the update that saw it last
  };

  std::unordered_map<Address, Known> bodies; // jitted, by start
  struct Image {
    Address end = 0, module = 0;
  };
  std::map<Address, Image> images; // ReadyToRun sections that are published, by begin
  struct Span {
    Address end = 0;
    std::uint64_t id = 0;
  };
  std::map<Address, Span> spans; // sections of published modules, by begin
  std::uint64_t last_id = 0, updates = 0;

  class Update;
};

// One call of update() or add().
class CodeCatalog::Impl::Update {
public:
  Update(Impl& impl, Runtime& runtime, const CatalogOptions& options)
      : impl_(impl), runtime_(runtime), options_(options),
        rows_(runtime.target()->memory(), runtime.target()->platform().cpu) {}

  CatalogChange whole() {
    ++impl_.updates;
    note_holes(0, "", [&] { add_jitted(); });
    if (!stopped_) retire();
    if (options_.r2r && !stopped_) add_images();
    finish();
    return std::move(change_);
  }

  CatalogChange one(Address ip) {
    note_holes(ip, "", [&] {
      const CodeLookup found = runtime_.code()->find(ip);
      const auto* block = std::get_if<CodeBlock>(&found);
      if (block == nullptr || block->kind == CodeKind::interpreted) return;
      CodeBlock at = *block;
      at.ip = at.start;
      if (at.kind == CodeKind::ready_to_run) {
        at.function_index = at.method_index;
        if (span_at(at.start) == nullptr) add_body(at, runtime_.describe(at).method);
      } else if (is_new(at)) {
        add_body(at, runtime_.describe(at).method);
      }
    });
    finish();
    return std::move(change_);
  }

private:
  template<typename Step>
  void note_holes(Address at, std::string_view what, const Step& step) {
    try {
      step();
    } catch (const std::exception& error) {
      problem(what.empty() ? fmt::format("code at {:#x}: {}", at, error.what())
                           : fmt::format("{}: {}", what, error.what()));
    }
  }
  void problem(std::string text) {
    if (change_.problems.size() < max_problems)
      change_.problems.push_back(std::move(text));
    else
      ++more_problems_;
  }
  bool stop() {
    if (++asked_ % bodies_per_question != 0 || !options_.stop) return stopped_;
    stopped_ = stopped_ || options_.stop();
    return stopped_;
  }

  const Impl::Span* span_at(Address address) const {
    auto after = impl_.spans.upper_bound(address);
    if (after == impl_.spans.begin()) return nullptr;
    --after;
    return address < after->second.end ? &after->second : nullptr;
  }

  bool is_new(const CodeBlock& block) {
    const auto known = impl_.bodies.find(block.start);
    if (known == impl_.bodies.end()) return true;
    if (known->second.method_desc == block.method_desc && known->second.code_header == block.code_header) {
      known->second.seen = impl_.updates;
      return false;
    }
    retired_.insert(known->second.module);
    return true;
  }

  bool exact_wanted(const FoundBody& body) const {
    return std::ranges::any_of(options_.exact, [&](Address ip) {
      return ip - body.regions.hot_start < body.regions.hot_size ||
             ip - body.regions.cold_start < body.regions.cold_size;
    });
  }

  void add_body(const CodeBlock& block, Method method) {
    runtime_.names()->add_user_method(method);
    const FoundBody body = find_body(runtime_, block, std::move(method));
    std::string fault;
    const CodeOwner owner{.file_name = owner_name(body.method),
                          .module = body.method.runtime_module,
                          .image = block.kind == CodeKind::ready_to_run};
    for (DebugCode& part : describe_body(body, rows_, exact_wanted(body), fault))
      code_.push_back({.owner = owner, .code = std::move(part), .range = block.section.begin});
    if (!fault.empty()) problem(fmt::format("{}: {}", body.method.full_name, fault));
    ++change_.methods;
    if (block.kind == CodeKind::jitted)
      impl_.bodies[block.start] = {.end = body.regions.hot_start + body.regions.hot_size,
                                   .method_desc = block.method_desc,
                                   .code_header = block.code_header,
                                   .seen = impl_.updates};
  }

  static std::string owner_name(const Method& method) {
    if (method.kind == MethodKind::dynamic || method.kind == MethodKind::il_stub) return "dynamic methods";
    return method.module.empty() ? "managed code" : method.module;
  }

  void add_jitted() {
    std::vector<CodeBlock> found;
    runtime_.code()->for_each_jitted([&](const JittedBody& body) {
      const CodeBlock block = block_of(body);
      if (is_new(block)) found.push_back(block);
      return impl_.bodies.size() + found.size() < max_bodies && !stop();
    });
    for (const EnumerationHole& hole : runtime_.code()->holes())
      problem(fmt::format("code at {:#x}: {}", hole.address, hole.what));
    for (const CodeBlock& block : found) {
      if (stop()) return;
      add_jitted_body(block);
    }
  }

  // Withdraws modules with bodies or images that are no more; their other bodies are described anew.
  void retire() {
    for (const auto& [start, known] : impl_.bodies)
      if (known.seen != impl_.updates) retired_.insert(known.module);
    for (auto image = impl_.images.begin(); image != impl_.images.end();) {
      const RangeSection* const now = runtime_.code()->section_at(image->first);
      if (now != nullptr && now->begin == image->first && now->r2r_module == image->second.module) {
        ++image;
        continue;
      }
      auto span = impl_.spans.lower_bound(image->first);
      for (; span != impl_.spans.end() && span->first < image->second.end; ++span)
        retired_.insert(span->second.id);
      image = impl_.images.erase(image);
    }
    if (retired_.empty()) return;
    retired_.erase(no_module);
    change_.gone.assign(retired_.begin(), retired_.end());
    std::erase_if(impl_.spans, [&](const auto& span) { return retired_.contains(span.second.id); });
    std::erase_if(impl_.bodies, [&](const auto& body) { return body.second.seen != impl_.updates; });
    std::vector<CodeBlock> again;
    for (const auto& [start, known] : impl_.bodies) {
      if (!retired_.contains(known.module)) continue;
      CodeBlock block{.ip = start, .start = start, .method_desc = known.method_desc};
      block.code_header = known.code_header;
      if (const RangeSection* const section = runtime_.code()->section_at(start)) block.section = *section;
      again.push_back(block);
    }
    for (const CodeBlock& block : again) add_jitted_body(block);
  }

  void add_jitted_body(const CodeBlock& block) {
    note_holes(block.start, "", [&] { add_body(block, runtime_.names()->describe(block.method_desc)); });
  }

  void add_images() {
    for (const RangeSection& section : runtime_.code()->sections()) {
      if (section.r2r_module == 0 || impl_.images.contains(section.begin)) continue;
      note_holes(section.begin, "", [&] { add_image(section); });
      if (stopped_) return;
      impl_.images[section.begin] = {section.end, section.r2r_module};
    }
  }

  void add_image(const RangeSection& section) {
    runtime_.names()->for_each_r2r_method(section, [&](const MethodNames::R2RMethod& found) {
      note_holes(section.begin, found.method.full_name, [&] {
        const CodeBlock block = runtime_.code()->r2r_block(section, found.function_index);
        if (span_at(block.start) == nullptr) add_body(block, found.method);
      });
      return !stop();
    });
  }

  void finish() {
    std::size_t dropped = 0;
    for (OwnedModule& owned : group_code(std::move(code_), runtime_.target()->platform(), {}, dropped)) {
      const std::uint64_t id = ++impl_.last_id;
      for (const DebugSection& section : owned.module.sections)
        impl_.spans[section.begin] = {section.end, id};
      for (const DebugCode& code : owned.module.code)
        if (const auto known = impl_.bodies.find(code.start); known != impl_.bodies.end())
          known->second.module = id;
      change_.added.push_back({.id = id, .module = std::move(owned.module)});
    }
    if (dropped != 0) problem(fmt::format("{} bodies overlap others and are left out", dropped));
    if (more_problems_ != 0) change_.problems.push_back(fmt::format("and {} more", more_problems_));
    if (stopped_) change_.problems.push_back("given up before all code was described");
  }

  Impl& impl_;
  Runtime& runtime_;
  const CatalogOptions& options_;
  UnwindRows rows_;
  CatalogChange change_;
  std::vector<OwnedCode> code_;
  std::set<std::uint64_t> retired_;
  std::size_t more_problems_ = 0, asked_ = 0;
  bool stopped_ = false;
};

CodeCatalog::CodeCatalog() : impl_(std::make_unique<Impl>()) {}
CodeCatalog::~CodeCatalog() = default;

CatalogChange CodeCatalog::update(Runtime& runtime, const CatalogOptions& options) {
  if (runtime.absence() != nullptr) return {};
  try {
    return Impl::Update(*impl_, runtime, options).whole();
  } catch (const std::exception& error) {
    CatalogChange change;
    change.problems.emplace_back(error.what());
    return change;
  }
}

CatalogChange CodeCatalog::add(Runtime& runtime, Address ip, const CatalogOptions& options) {
  if (runtime.absence() != nullptr) return {};
  try {
    return Impl::Update(*impl_, runtime, options).one(ip);
  } catch (const std::exception& error) {
    CatalogChange change;
    change.problems.emplace_back(error.what());
    return change;
  }
}

void CodeCatalog::clear() {
  *impl_ = Impl();
}

} // namespace clr
