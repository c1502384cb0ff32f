#include "extension/breakpoints/breakpoint_places.h"

#include "core/describe/code_names.h"
#include "core/memory/error.h"
#include "core/memory/path_map.h"

#include <algorithm>
#include <regex.h>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
void add(std::vector<CodeSpan>& places, lldb::SBTarget& target, lldb::SBAddress begin,
         lldb::SBAddress end = {}) {
  if (!begin.IsValid() || places.size() >= max_places) return;
  const lldb::addr_t from = begin.GetLoadAddress(target);
  if (from == LLDB_INVALID_ADDRESS) return;
  const lldb::addr_t to = end.IsValid() ? end.GetLoadAddress(target) : LLDB_INVALID_ADDRESS;
  places.push_back({from, to != LLDB_INVALID_ADDRESS && to > from ? to : from + 1});
}

void add(std::vector<CodeSpan>& places, lldb::SBTarget& target, lldb::SBSymbolContextList found) {
  for (std::uint32_t i = 0; i < found.GetSize(); ++i) {
    lldb::SBSymbolContext context = found.GetContextAtIndex(i);
    lldb::SBFunction function = context.GetFunction();
    lldb::SBSymbol symbol = context.GetSymbol();
    if (function.IsValid())
      add(places, target, function.GetStartAddress(), function.GetEndAddress());
    else if (symbol.IsValid())
      add(places, target, symbol.GetStartAddress(), symbol.GetEndAddress());
  }
}

// A regular expression as LLDB reads it: the extended ones of POSIX.
class Pattern {
public:
  explicit Pattern(const std::string& text)
      : compiled_(regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (compiled_) regfree(&regex_);
  }

  bool matches(const char* text) const {
    return compiled_ && text != nullptr && regexec(&regex_, text, 0, nullptr, 0) == 0;
  }

private:
  regex_t regex_{};
  bool compiled_;
};

// One of the names that LLDB has of the method.
bool is_named(const Method& method, const Pattern& pattern) {
  const DebugNames names = all_names(method);
  return pattern.matches(names.full_name.c_str()) || pattern.matches(names.name.c_str()) ||
         std::ranges::any_of(names.aliases,
                             [&](const std::string& alias) { return pattern.matches(alias.c_str()); });
}

// Every row of the file from the line on: LLDB takes the next line that has code.
void add_lines(std::vector<CodeSpan>& places, lldb::SBTarget& target, const std::string& file,
               std::uint32_t line) {
  lldb::SBFileSpec spec(file.c_str(), false);
  lldb::SBSymbolContextList units = target.FindCompileUnits(spec);
  std::uint32_t nearest = UINT32_MAX;
  std::vector<std::pair<std::uint32_t, lldb::SBAddress>> rows;
  for (std::uint32_t i = 0; i < units.GetSize(); ++i) {
    lldb::SBCompileUnit unit = units.GetContextAtIndex(i).GetCompileUnit();
    for (std::uint32_t k = 0; k < unit.GetNumLineEntries() && rows.size() < max_places; ++k) {
      lldb::SBLineEntry entry = unit.GetLineEntryAtIndex(k);
      const char* name = entry.GetFileSpec().GetFilename();
      if (name == nullptr || file_name_of(file) != file_name_of(name) || entry.GetLine() < line) continue;
      nearest = std::min(nearest, entry.GetLine());
      rows.emplace_back(entry.GetLine(), entry.GetStartAddress());
    }
  }
  for (auto& [at, address] : rows)
    if (at == nearest) add(places, target, address);
}
} // namespace

BreakpointWish wish_of(lldb::SBBreakpoint& breakpoint) {
  lldb::SBStream text;
  lldb::SBStructuredData data = breakpoint.SerializeToStructuredData();
  if (!data.IsValid() || data.GetAsJSON(text).Fail() || text.GetData() == nullptr) return {};
  return wish_of_serialized({text.GetData(), text.GetSize()});
}

std::vector<CodeSpan> places_of(lldb::SBTarget& target, const BreakpointWish& wish) {
  std::vector<CodeSpan> places;
  switch (wish.kind) {
  case BreakpointWish::Kind::name:
    for (const std::string& name : wish.names) {
      add(places, target, target.FindFunctions(name.c_str(), lldb::eFunctionNameTypeAuto));
      add(places, target, target.FindSymbols(name.c_str(), lldb::eSymbolTypeCode));
    }
    break;
  case BreakpointWish::Kind::line: {
    std::string file = wish.file;
    if (file.empty()) {
      lldb::SBFrame frame = target.GetProcess().GetSelectedThread().GetSelectedFrame();
      const char* name = frame.GetLineEntry().GetFileSpec().GetFilename();
      if (name == nullptr) break;
      file = name;
    }
    add_lines(places, target, file, wish.line);
    break;
  }
  case BreakpointWish::Kind::pattern:
  case BreakpointWish::Kind::address:
  case BreakpointWish::Kind::unknown:
    break;
  }
  return places;
}

std::vector<CodeSpan> jitted_code_of(Session& session, const BreakpointWish& wish) {
  std::vector<CodeSpan> places;
  Runtime& runtime = session.runtime();
  if (wish.kind != BreakpointWish::Kind::pattern || wish.names.empty() || runtime.absence() != nullptr)
    return places;
  const Pattern pattern(wish.names.front());
  const auto add_body = [&](const JittedBody& body) {
    const bool interpreted = (body.section.flags & RangeSection::interpreter) != 0;
    if (interpreted || !is_named(runtime.describe_once(body.method_desc).spell(), pattern)) return;
    const CodeLookup found = runtime.code()->find(body.start);
    if (const auto* const block = std::get_if<CodeBlock>(&found)) {
      const MethodRegions regions = runtime.code()->regions(*block);
      places.push_back({regions.hot_start, regions.hot_start + regions.hot_size});
    }
  };
  // Places that cannot be found are planted before the process goes on.
  const auto guarded = [](const auto& look) {
    try {
      look();
    } catch (const Error&) {
    }
  };
  guarded([&] {
    runtime.code()->for_each_jitted([&](const JittedBody& body) {
      guarded([&] { add_body(body); });
      return places.size() < max_places;
    });
  });
  return places;
}

} // namespace clr::lldb_plugin
