// The last phases of an update: resolves overlaps, groups code into modules, enters them in the catalog and
// hands them to the caller. The functions are called in the order of their Published values.
#pragma once

#include "core/publish/catalog_phases.h"
#include "core/publish/code_describer.h"
#include "core/publish/update_run.h"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace clr {

class CodePublisher {
public:
  // `run` must outlive this. `starts` are those of the code that jitted() gets, which is all that is new;
  // nothing: it is a part of it, and no section reaches over a place that it leaves free. No reads.
  CodePublisher(UpdateRun& run, std::optional<CodeStarts> starts)
      : run_(run), describer_(run), starts_(std::move(starts)) {}

  // Jitted code, with the stubs of its heaps. Owners with much code get their modules while other heaps are
  // still described.
  Published jitted(CurrentCode current);
  // All ReadyToRun code that is not published yet, image by image.
  Published images(Published before);
  // Bodies of ReadyToRun code, as far as they are not published yet.
  Published image_bodies(Published before, std::span<const CodeBlock> blocks);
  // Stubs of range lists and images; of the sections that begin at `only` alone, if that is not null.
  Published stubs(Published before, const std::set<Address>* only = nullptr);
  // Code that nothing describes, in the places that are left.
  Published unknown(Published before);
  // The change that the run made.
  CatalogChange finish(Published all);

  // Bytes of ReadyToRun code that are given to modules in one update.
  static constexpr std::uint64_t max_code_bytes = std::uint64_t{1} << 30;

private:
  DisjointBatch resolve(DescribedBatch batch);
  // Modules of earlier updates that hold code of the batch. Code that meets a module of this update loses its
  // size: one of the two is a lie.
  FoundCode find_met(DescribedBatch& batch) const;
  GroupedModules group(DisjointBatch batch);
  void publish(GroupedModules grouped);
  void publish(DescribedBatch batch) { publish(group(resolve(std::move(batch)))); }
  void publish_large(DescribedBatch& batch);
  void publish_image(const RangeSection& section);
  Omissions add_variables(OwnedModule& owned);
  void add_bytes(DescribedModule& module);
  void enter(const OwnedModule& owned, ModuleId id);

  UpdateRun& run_;
  CodeDescriber describer_;
  std::optional<CodeStarts> starts_;
  std::vector<SpelledModule> added_; // without CatalogOptions::made
  std::uint64_t code_bytes_ = 0;
  std::size_t dropped_ = 0; // stretches of code that were left out because they overlap others
};

} // namespace clr
