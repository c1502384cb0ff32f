#include "core/stack/managed_unwinder.h"

namespace clr {
namespace {

// Layouts are kept for a stop; a walk over more distinct instructions than this starts over.
constexpr std::size_t max_layouts = 100'000;

} // namespace

ManagedUnwinder::ManagedUnwinder(ExecutionManager& code)
    : code_(&code), layout_at_(architecture_with_stacks(code.target().platform().cpu).managed_layout) {}

const FrameLayout& ManagedUnwinder::layout(const CodeBlock& block, bool leaf) {
  auto& known = layouts_[leaf ? 1 : 0];
  if (const auto it = known.find(block.ip); it != known.end()) return it->second;

  const Address function = code_->unwind_info(block);
  if (function == 0) {
    if (block.kind == CodeKind::jitted)
      for (const std::string_view field : {"NumUnwindInfos", "UnwindInfos"})
        code_->target().offset("RealCodeHeader", field); // throws where it is not published
    throw_corrupt(block.ip, "no unwind information for managed code");
  }
  // The cold part of a method has a record of its own.
  const std::function<bool(Address)> same_method = [&](Address target) {
    const CodeLookup found = code_->find(target);
    const auto* other = std::get_if<CodeBlock>(&found);
    return other != nullptr && other->start == block.start;
  };
  FrameLayout layout = layout_at_({.memory = code_->target().memory(),
                                   .function = function,
                                   .base = code_->unwind_info_base(block),
                                   .ip = block.ip,
                                   .leaf = leaf,
                                   .same_method = same_method});
  if (known.size() >= max_layouts) known.clear();
  return known.insert_or_assign(block.ip, std::move(layout)).first->second;
}

Unwound ManagedUnwinder::unwind(const CodeBlock& block, const RegisterContext& context, bool leaf) {
  return apply_layout(code_->target().memory(), layout(block, leaf), context, FoundBy::unwind_info);
}

} // namespace clr
