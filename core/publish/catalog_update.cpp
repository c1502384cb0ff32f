#include "core/publish/catalog_update.h"

#include "core/publish/code_finder.h"
#include "core/publish/code_publisher.h"

#include <optional>
#include <utility>

namespace clr {

CatalogChange update_all(CatalogState& state, Runtime& runtime, const CatalogOptions& options) {
  ++state.updates;
  UpdateRun run(state, runtime, options);
  CurrentCode current = withdraw(run, CodeFinder(run).everything());
  CodePublisher publisher(run, current.starts());
  Published published = publisher.jitted(std::move(current));
  if (options.r2r) published = publisher.images(std::move(published));
  if (options.stubs && !run.stopped()) published = publisher.stubs(std::move(published));
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
    published = publisher.image_body(std::move(published), *block);
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
