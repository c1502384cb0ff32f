// The functions of a method's body: their unwind data, and the funclets among them.
#include "core/execution/execution_manager_impl.h"
#include "core/isa/architecture.h"

namespace clr {

KnownBody& ExecutionManager::Impl::body_with_functions(const CodeBlock& block) {
  KnownBody& body = body_of(block);
  if (body.functions_read) return body;
  return bodies.set_functions(body, jitted.functions({.address = body.code_header,
                                                      .unwind_count = body.unwind_count,
                                                      .unwind_table = body.unwind_table},
                                                     block.section));
}

std::optional<std::size_t> ExecutionManager::Impl::continued(const CodeBlock& block, const KnownBody& body,
                                                             std::size_t at) {
  ReadyToRunImage* const image = block.kind == CodeKind::ready_to_run ? &image_of(block.section) : nullptr;
  const Address table = image != nullptr ? image->functions() : body.unwind_table;
  const bool chains = architecture_of(target.platform().cpu).unwind_data.chains;
  // Later fragments of a function that is too large for one record, and the cold part of the main body, lead
  // back to where the function or funclet begins.
  const std::uint32_t index = body.functions[at].index;
  const bool cold = body.regions.cold_size != 0 && body.functions[at].begin >= body.regions.cold_start;
  if (cold && chains && image->is_chained(index)) return 0;
  if (!functions.is_fragment(table, index, block.section.begin)) return std::nullopt;
  // The first cold function continues the main body; the function before it in the table is another one.
  if (cold && body.functions[at - 1].begin < body.regions.cold_start) return 0;
  return at - 1;
}

Address ExecutionManager::unwind_info(const CodeBlock& block) {
  if (block.kind == CodeKind::interpreted) return 0;
  if (block.kind == CodeKind::ready_to_run)
    return impl_->image_of(block.section).runtime_function(block.function_index);
  const KnownBody& body = impl_->body_with_functions(block);
  if (body.functions.empty()) return 0;
  return impl_->functions.entry(body.unwind_table, body.functions[body.function_at(block.ip)].index);
}

Address ExecutionManager::unwind_info_base(const CodeBlock& block) {
  return block.section.begin;
}

std::vector<ExecutionManager::Function> ExecutionManager::functions(const CodeBlock& block) {
  std::vector<Function> result;
  if (block.kind == CodeKind::interpreted) return result;
  const KnownBody& body = impl_->body_with_functions(block);
  if (body.functions.empty()) return result;
  const Address table =
      block.kind == CodeKind::ready_to_run ? impl_->image_of(block.section).functions() : body.unwind_table;
  result.reserve(body.functions.size());
  for (const KnownBody::Function& function : body.functions)
    result.push_back({function.begin, impl_->functions.entry(table, function.index)});
  return result;
}

ExecutionManager::Layout ExecutionManager::layout(const CodeBlock& block) {
  if (block.kind != CodeKind::jitted) return {.regions = regions(block), .functions = functions(block)};
  Layout result;
  const CodeHeader header = impl_->jitted.read_header(block.code_header);
  result.regions = {.hot_start = block.start, .hot_size = impl_->jitted.length(header, block.section)};
  const std::vector<KnownBody::Function> functions = impl_->jitted.functions(header, block.section);
  result.functions.reserve(functions.size());
  for (const KnownBody::Function& function : functions)
    result.functions.push_back({function.begin, impl_->functions.entry(header.unwind_table, function.index)});
  return result;
}

Address ExecutionManager::funclet_start(const CodeBlock& block) {
  Impl& impl = *impl_;
  if (block.kind == CodeKind::interpreted) return block.start;
  // Nearly all methods are so; the one function begins where the method does (JittedCode::read_header_of).
  if (impl.body_of(block).one_function) return block.start;
  KnownBody& body = impl.body_with_functions(block);
  if (body.functions.empty()) {
    for (const std::string_view field : {"NumUnwindInfos", "UnwindInfos"})
      impl.target.offset("RealCodeHeader", field);
    throw_corrupt(block.code_header, "a method without unwind data");
  }
  if (body.functions.size() == 1) return body.functions.front().begin;
  // Later fragments lead back one by one, so what they lead to is kept for all on the way.
  std::vector<KnownBody::Function>& functions = body.functions;
  const std::size_t asked = body.function_at(block.ip);
  std::size_t at = asked, seen = asked; // those of [seen, asked] belong to the one at `at`
  const auto keep = [&] {
    for (std::size_t i = seen; i <= asked; ++i) functions[i].leader = static_cast<std::uint32_t>(at + 1);
  };
  try {
    for (;;) {
      if (const std::uint32_t leader = functions[at].leader; leader != 0 && leader - 1 != at) {
        at = leader - 1;
        continue;
      }
      if (at == 0 || functions[at].leader != 0) break;
      const auto before = impl.continued(block, body, at);
      seen = at;
      if (!before) break;
      at = *before;
    }
  } catch (const Error&) {
    if (seen > at) keep();
    throw;
  }
  keep();
  return functions[at].begin;
}

bool ExecutionManager::is_funclet(const CodeBlock& block) {
  return funclet_start(block) != block.start;
}

} // namespace clr
