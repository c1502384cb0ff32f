#include "core/publish/catalog_update.h"

#include "core/publish/code_at_places.h"
#include "core/publish/code_finder.h"
#include "core/publish/code_publisher.h"

#include <optional>
#include <utility>

namespace clr {

namespace {

CatalogChange publish_everything(UpdateRun& run, CodeFinder& finder) {
  ++run.state.updates;
  CurrentCode current = withdraw(run, finder.everything());
  CodePublisher publisher(run, current.starts());
  Published published = publisher.jitted(std::move(current));
  if (run.options.r2r) published = publisher.images(std::move(published));
  if (run.options.stubs && !run.stopped()) published = publisher.stubs(std::move(published));
  CatalogChange change = publisher.finish(publisher.unknown(std::move(published)));
  change.everything = true;
  return change;
}

} // namespace

CatalogChange update_all(CatalogState& state, Runtime& runtime, const CatalogOptions& options) {
  UpdateRun run(state, runtime, options);
  CodeFinder finder(run);
  return publish_everything(run, finder);
}

CatalogChange update_places(CatalogState& state, Runtime& runtime, const CatalogOptions& options,
                            std::span<const Address> places) {
  UpdateRun run(state, runtime, options);
  CodeFinder finder(run);
  CodeAtPlaces placed = code_at_places(run, places);
  if (options.stubs) name_precodes(run, placed);
  std::optional<FoundCode> found = finder.at(placed);
  if (!found) return publish_everything(run, finder);
  CodePublisher publisher(run, std::nullopt);
  Published published = publisher.jitted(withdraw(run, *std::move(found)));
  if (options.r2r) published = publisher.image_bodies(std::move(published), placed.images);
  if (options.stubs && !placed.stub_sections.empty())
    published = publisher.stubs(std::move(published), &placed.stub_sections);
  return publisher.finish(publisher.unknown(std::move(published)));
}

CatalogChange update_at(CatalogState& state, Runtime& runtime, const CatalogOptions& options, Address ip) {
  UpdateRun run(state, runtime, options);
  std::optional<CodeBlock> block;
  run.guarded([&] { return fmt::format("the code at {:#x}", ip); },
              [&] {
                const CodeLookup found = run.code.find(ip);
                if (const auto* const at = std::get_if<CodeBlock>(&found)) block = *at;
              });
  CodeFinder finder(run);
  if (block) block->ip = block->start;
  const bool jitted = block && block->kind == CodeKind::jitted;
  CurrentCode current = withdraw(run, jitted ? finder.at(*block) : finder.nothing());
  CodePublisher publisher(run, current.starts());
  Published published = publisher.jitted(std::move(current));
  if (block && block->kind == CodeKind::ready_to_run) {
    block->function_index = block->method_index;
    published = publisher.image_bodies(std::move(published), {&*block, 1});
  }
  return publisher.finish(publisher.unknown(std::move(published)));
}

CatalogChange update_unknown(CatalogState& state, Runtime& runtime, const CatalogOptions& options) {
  UpdateRun run(state, runtime, options);
  CodeFinder finder(run);
  CodePublisher publisher(run, {});
  Published published = publisher.jitted(withdraw(run, finder.nothing()));
  return publisher.finish(publisher.unknown(std::move(published)));
}

} // namespace clr
