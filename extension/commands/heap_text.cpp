#include "extension/commands/heap_text.h"

#include "core/memory/count_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

CLI::Option* add_part(CLI::App& app, std::string& part, std::string_view what) {
  return app
      .add_option("-g,--gen", part,
                  fmt::format("{} of one generation only: 0, 1, 2, loh, poh or frozen.", what))
      ->type_name("GEN")
      ->check(one_of({"0", "1", "2", "loh", "poh", "frozen"}));
}

std::optional<HeapPart> part_named(const std::string& name) {
  for (const HeapPart part :
       {HeapPart::gen0, HeapPart::gen1, HeapPart::gen2, HeapPart::loh, HeapPart::poh, HeapPart::frozen})
    if (to_string(part) == name || to_string(part) == "gen" + name) return part;
  return std::nullopt;
}

HeapWalkOptions walk_options(Output& out) {
  return {.progress = [&out](std::uint64_t done, std::uint64_t of) {
    constexpr std::uint64_t stride = 4096; // Output looks at multiples of it only
    out.progress("heap", done / stride * stride, of);
    return !out.interrupted();
  }};
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "0 %"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string root_text(const HeapRoot& root) {
  switch (root.kind) {
  case HeapRoot::Kind::handle:
    return fmt::format("{} handle at {:#x}", to_string(root.handle_kind), root.slot.value_or(0));
  case HeapRoot::Kind::finalizer:
    return "finalizer queue: its finalizer is due";
  case HeapRoot::Kind::static_field:
    return fmt::format("static {}", root.name);
  case HeapRoot::Kind::thread_static:
    return fmt::format("statics of thread {}", root.os_id);
  case HeapRoot::Kind::stack:
    return fmt::format("stack of thread {}, frame #{}: {} of {}{}", root.os_id, root.stack->frame,
                       place_of(*root.stack), holder_of(*root.stack),
                       root.stack->root.why_uncertain.empty() ? "" : " (uncertain)");
  }
  return {};
}

void print_memory_use(Output& out, const MemoryUse& use) {
  if (use.all != 0) {
    const std::string stacks = use.stacks == 0 ? "stacks" : count_text(use.stacks, "stack");
    const std::pair<MemoryOwner, std::string_view> rows[] = {
        {MemoryOwner::gc, "managed heap: committed by the garbage collector"},
        {MemoryOwner::code, "compiled code"},
        {MemoryOwner::loader, "types, methods and stubs of the runtime"},
        {MemoryOwner::stacks, stacks},
        {MemoryOwner::files, "mapped files"},
        {MemoryOwner::native, "other native memory"},
    };
    const auto bytes = [&](MemoryOwner owner) { return use.bytes[static_cast<std::size_t>(owner)]; };
    const std::uint64_t reserved = bytes(MemoryOwner::reserved), all = use.all - reserved;
    for (const auto& [owner, name] : rows)
      out.line("{:>15} {:>7}  {}", bytes(owner), percent(bytes(owner), all), name);
    out.line("{:>15} {:>7}  all memory of the process; {} bytes more are reserved addresses", all, "",
             reserved);
  }
  if (use.limit)
    out.line("the heap may fill {} bytes ({})", use.limit->bytes, use.limit->source);
  else if (!use.limit_unseen.empty())
    out.line("whether the heap has a limit is not known: {}", use.limit_unseen.front());
  if (use.gc.adapts)
    out.line("the collector {} the number of its heaps to the program (DATAS)",
             *use.gc.adapts ? "adapts" : "does not adapt");
  for (const GcFailure& failure : use.gc.failures)
    out.line("heap {} could not give {} bytes{} after collection {}, the last time that this happened: {}",
             failure.heap, failure.asked, failure.large ? " for a large object" : "", failure.collection,
             failure_text(failure));
}

void warn_of_heap(Output& out, const HeapReporter& heap, const std::vector<HeapGap>& gaps) {
  for (const std::string& text : heap.warnings()) out.warning(text);
  for (const std::string& text : gap_texts(gaps, heap.map().bytes())) out.warning(text);
}

} // namespace clr::lldb_plugin
