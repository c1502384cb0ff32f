#include "core/describe/stub_code.h"

#include "core/isa/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace clr {
namespace {

// `pushed` bytes above what a function finds at its entry.
FrameLayout entry_layout(const Architecture& architecture, unsigned word, std::int64_t pushed) {
  const RegisterRoles& roles = architecture.roles;
  FrameLayout layout{.cfa = {roles.sp, pushed}};
  if (!architecture.returns_by_stack()) return layout;
  layout.cfa.offset += word;
  layout.save(roles.pc, {roles.sp, pushed});
  return layout;
}

} // namespace

DebugUnwindRange stub_unwinding(const Platform& platform, std::span<const std::byte> code,
                                std::uint32_t size) {
  DebugUnwindRange range{.begin = 0, .end = size};
  const Architecture& architecture = architecture_of(platform.cpu);
  const auto layout_at = [&](std::int64_t pushed) {
    return entry_layout(architecture, platform.pointer_size, pushed);
  };
  DebugUnwindRows::List rows{{0, layout_at(0)}};
  constexpr std::int64_t most_pushed = 64;
  std::int64_t pushed = 0;
  for (std::uint32_t at = 0; architecture.stack_effect != nullptr && at < size && at < code.size();) {
    const StackEffect effect = architecture.stack_effect(code.subspan(at));
    const std::int64_t next = effect.ends ? 0 : pushed + effect.pushed;
    at += effect.length;
    const bool lost = effect.length == 0 || next < 0 || next > most_pushed;
    const std::int64_t now = lost ? 0 : next;
    if (now != pushed && at < size) {
      if (rows.back().offset == at) rows.pop_back();
      const FrameLayout layout = layout_at(now);
      if (rows.empty() || rows.back().layout.cfa != layout.cfa) rows.push_back({at, layout});
    }
    pushed = now;
    if (lost) break;
  }
  range.rows = std::move(rows);
  return range;
}

DebugCode stub_code(const Platform& platform, StubKind kind, Address begin, Address end,
                    std::span<const std::byte> code) {
  DebugCode stub;
  stub.start = begin;
  stub.size = std::min<Address>(end - begin, std::numeric_limits<std::uint32_t>::max());
  stub.name = stub.full_name = fmt::format("[{}]", to_string(kind));
  stub.function = false;
  stub.unit = "stubs";
  stub.unwind.push_back(stub_unwinding(platform, code, static_cast<std::uint32_t>(stub.size)));
  // Else LLDB reads the code of all stubs in a row, and what lies between them, and follows what that would
  // push. Resolve stubs do push: where each begins must be known.
  stub.unwind.back().exact = kind != StubKind::vsd_resolve || !code.empty();
  return stub;
}

StubKind stub_kind_of_section(ExecutionManager& code, const RangeSection& section) {
  const CodeLookup found = code.find(section.begin);
  const auto* const miss = std::get_if<execution::Miss>(&found);
  return miss != nullptr ? miss->stub.value_or(StubKind::unknown) : StubKind::unknown;
}

} // namespace clr
