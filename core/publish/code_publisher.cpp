#include "core/publish/code_publisher.h"

#include "core/describe/debug_variables.h"
#include "core/describe/image_bodies.h"
#include "core/describe/interruptions.h"
#include "core/describe/line_rows.h"
#include "core/publish/unknown_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace clr {
namespace {

// Of jitted code, the part of codes_at_once that an owner must have for a module of its own.
constexpr std::size_t least_part = 4;

void make_arguments_locals(DebugBody& body) {
  for (DebugVariable& variable : body.variables) variable.parameter = variable.artificial = false;
}

} // namespace

Published CodePublisher::jitted(CurrentCode current) {
  DescribedBatch batch = describer_.batch();
  describer_.describe(std::move(current), batch, [this](DescribedBatch& some) { publish_large(some); });
  publish(std::move(batch));
  return {};
}

// The code of the other owners stays in the batch.
void CodePublisher::publish_large(DescribedBatch& batch) {
  std::map<const CodeOwner*, std::size_t> codes;
  for (const OwnedCode& owned : batch.code_) ++codes[owned.owner.get()];
  std::vector<OwnedCode> small;
  for (OwnedCode& owned : batch.code_)
    if (codes.at(owned.owner.get()) < run_.options.codes_at_once / least_part)
      small.push_back(std::exchange(owned, {}));
  publish(std::move(batch));
  batch = describer_.batch();
  batch.code_.insert(batch.code_.end(), std::make_move_iterator(small.begin()),
                     std::make_move_iterator(small.end()));
}

Published CodePublisher::images(Published before) {
  for (const RangeSection& section : run_.code.sections()) {
    if (run_.stopped()) break;
    if (section.r2r_module == 0 || run_.state.images.contains(section.begin)) continue;
    publish_image(section);
  }
  return before;
}

void CodePublisher::publish_image(const RangeSection& section) {
  const std::size_t at_once = run_.options.codes_at_once;
  run_.state.forgive(section.begin, section.end);
  DescribedBatch batch = describer_.batch();
  run_.guarded([&] { return fmt::format("the ReadyToRun image at {:#x}", section.begin); },
               [&] {
                 // Room at once: moving code is what would cost most.
                 const std::size_t room =
                     std::min<std::size_t>(run_.code.r2r_image(section).function_count, at_once);
                 batch.code_.reserve(room);
                 for_each_image_body(
                     run_.runtime, section,
                     [&](FoundBody& body) {
                       run_.runtime.names()->add_user_method(body.method);
                       if (run_.first || !run_.state.describes(body.block.start))
                         describer_.describe(body, batch);
                       if (batch.size() > at_once) {
                         // The last one may still turn out to reach into the next.
                         OwnedCode last = std::move(batch.code_.back());
                         batch.code_.pop_back();
                         publish(std::move(batch));
                         batch = describer_.batch();
                         batch.code_.reserve(room);
                         batch.code_.push_back(std::move(last));
                       }
                       return !run_.stop();
                     },
                     [&](const UnspelledMethod& method, const std::string& fault) {
                       run_.problem(fmt::format("{}: {}", method.spell().full_name, fault));
                     });
               });
  if (!run_.stopped()) run_.state.images[section.begin] = {section.end, section.r2r_module};
  // The image is whole, so its modules need not wait for the other images.
  publish(std::move(batch));
}

Published CodePublisher::image_bodies(Published before, std::span<const CodeBlock> blocks) {
  DescribedBatch batch = describer_.batch();
  for (const CodeBlock& block : blocks) {
    if (run_.state.describes(block.start)) continue;
    run_.guarded([&] { return fmt::format("the code at {:#x}", block.start); },
                 [&] {
                   UnspelledMethod method(run_.runtime.describe(block).method);
                   FoundBody body = find_body(run_.code, block, std::move(method));
                   describer_.describe(body, batch);
                 });
  }
  publish(std::move(batch));
  return before;
}

Published CodePublisher::stubs(Published before, const std::set<Address>* only) {
  DescribedBatch batch = describer_.batch();
  describer_.describe_stubs(batch, only);
  publish(std::move(batch));
  return before;
}

Published CodePublisher::unknown(Published before) {
  run_.guarded([] { return std::string("code that nothing describes"); },
               [&] {
                 UnknownCode unknown(run_);
                 if (run_.options.grows) publish(DescribedBatch(unknown.rests_of_heaps()));
                 if (!run_.options.executable.empty())
                   publish(DescribedBatch(unknown.outside_of_sections(run_.options.executable)));
               });
  return before;
}

CatalogChange CodePublisher::finish(Published) {
  if (dropped_ != 0)
    run_.problem(fmt::format("{} stretches of code overlap others and are left out", dropped_));
  return {.added = std::move(added_),
          .gone = std::exchange(run_.state.gone, {}),
          .methods = run_.methods,
          .complete = !run_.stopped(),
          .problems = run_.take_problems()};
}

DisjointBatch CodePublisher::resolve(DescribedBatch batch) {
  // The code of a withdrawn module is described anew, and may meet other modules in its turn. Modules of
  // before this update become fewer each time.
  while (true) {
    FoundCode met = find_met(batch);
    if (met.outdated_.empty()) return DisjointBatch(std::move(batch.code_));
    describer_.describe(withdraw(run_, std::move(met)), batch);
  }
}

FoundCode CodePublisher::find_met(DescribedBatch& batch) const {
  FoundCode found;
  for (OwnedCode& owned : batch.code_) {
    std::set<ModuleId> met;
    run_.state.modules_in(owned.code->start, owned.code->start + owned.code->size, met);
    for (const ModuleId id : met) {
      if (id > run_.last_before)
        owned.code->size = 0;
      else
        found.outdated_.insert(id);
    }
  }
  return found;
}

GroupedModules CodePublisher::group(DisjointBatch batch) {
  const auto between = [&](Address begin, Address end) {
    if (!starts_) return true;
    const auto next = std::ranges::lower_bound(*starts_, begin);
    if (next != starts_->end() && *next < end) return true;
    std::set<ModuleId> found;
    run_.state.modules_in(begin, end, found);
    return !found.empty();
  };
  std::vector<OwnedCode*> code = pointers_to(batch.code_);
  std::erase_if(code, [](const OwnedCode* owned) { return owned->owner == nullptr; }); // was taken out
  GroupedModules grouped(group_code(std::move(code), run_.runtime.target()->platform(), between, dropped_));
  describer_.recycle(std::move(batch.code_));
  return grouped;
}

void CodePublisher::publish(GroupedModules grouped) {
  for (OwnedModule& owned : grouped.modules_) {
    const ModuleId id = ++run_.state.last_module;
    if (run_.options.variables)
      if (Omissions missing = add_variables(owned); !missing.empty())
        run_.state.omissions.insert_or_assign(id, std::move(missing));
    if (run_.options.readable && owned.owner.image) add_bytes(owned.module);
    const Address owner = owned.owner.unknown ? 0 : owned.owner.module;
    const bool symbols = (run_.options.lines || run_.options.variables) && has_symbols(run_.runtime, owner);
    run_.state.made.insert_or_assign(id, CatalogState::Made{.owner = owner,
                                                            .image = owned.owner.image,
                                                            .lines = symbols && run_.options.lines,
                                                            .variables = symbols && run_.options.variables});
    enter(owned, id);
    CatalogModule made{.id = id, .module = std::move(owned.module), .unknown = owned.owner.unknown};
    if (run_.options.made)
      run_.options.made(std::move(made));
    else
      added_.push_back({.id = id, .module = std::move(made.module).take_spelled(), .unknown = made.unknown});
  }
}

void CodePublisher::enter(const OwnedModule& owned, ModuleId id) {
  CatalogState& state = run_.state;
  for (const DebugSection& section : owned.module.sections)
    state.spans[section.begin] = {section.end, id, owned.owner.unknown};
  for (std::size_t i = 0; i < owned.module.size(); ++i) {
    const Address start = owned.module[i].start;
    if (!owned.owner.image && owned.module[i].function)
      if (KnownBodies::Body* const known = state.bodies.find(start)) known->module = id;
    if (const auto stub = state.stubs.find(start); stub != state.stubs.end()) stub->second = id;
  }
}

Omissions CodePublisher::add_variables(OwnedModule& owned) {
  Omissions missing;
  DescribedModule& module = owned.module;
  if (!owned.sources.empty()) {
    DebugVariables variables(run_.runtime, module.types, missing);
    for (auto& [index, source] : owned.sources) {
      if (!run_.stop()) variables.add(module[index], source->block, source->method);
      if (run_.state.repeated.contains(source->block.start)) make_arguments_locals(module[index]);
      source.reset();
    }
  }
  for (std::size_t i = 1; i < module.size(); ++i)
    if (DebugBody& before = module[i - 1];
        before.before_entry && before.start + before.size == module[i].start)
      copy_entry_variables(module[i], before);
  return missing;
}

void CodePublisher::add_bytes(DescribedModule& module) {
  for (DebugSection& section : module.sections) {
    const std::uint64_t size = section.end - section.begin;
    if (run_.options.readable(section.begin) || size > max_code_bytes - code_bytes_) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (run_.runtime.target()->memory().read_some(section.begin, bytes) != bytes.size()) continue;
    code_bytes_ += size;
    section.bytes = std::move(bytes);
  }
}

} // namespace clr
