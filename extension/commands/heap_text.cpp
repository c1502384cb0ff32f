#include "extension/commands/heap_text.h"

#include "extension/commands/parser.h"

namespace clr::lldb_plugin {

CLI::Option* add_part(CLI::App& app, std::string& part) {
  return app.add_option("-g,--gen", part, "Objects of one generation only.")
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

void warn_of_heap(Output& out, const HeapReporter& heap, const std::vector<HeapGap>& gaps) {
  for (const std::string& text : heap.warnings()) out.warning(text);
  for (const std::string& text : gap_texts(gaps, heap.map().bytes())) out.warning(text);
}

} // namespace clr::lldb_plugin
