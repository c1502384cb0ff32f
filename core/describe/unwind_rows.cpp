#include "core/describe/unwind_rows.h"

#include "core/isa/arm64/unwind.h"
#include "core/isa/x64/epilogue.h"
#include "core/isa/x64/frame_pointer.h"
#include "core/isa/x64/unwind.h"

#include <algorithm>

namespace clr {
namespace {

using Rows = DebugUnwindRows::List;

// Bytes of UNWIND_INFO before its codes, and of a code slot.
constexpr std::size_t unwind_header = 4, unwind_slot = 2;
// What a prologue is recognised by at most; a longer one is not kept.
constexpr std::size_t max_kept_info = unwind_header + 32 * unwind_slot;
constexpr std::size_t max_prologues = 100'000;
// Instructions between the last one that the unwind data describe and the one that sets the frame pointer.
constexpr std::size_t max_before_frame_pointer = 4;

bool same_layout(const FrameLayout& a, const FrameLayout& b) {
  return a.cfa == b.cfa && a.saved == b.saved && a.stack_pointer_at == b.stack_pointer_at &&
         a.interrupted == b.interrupted && a.signed_return_address == b.signed_return_address &&
         a.outermost == b.outermost;
}

// Appends, unless the row before says the same.
void add_row(Rows& rows, std::uint32_t offset, const FrameLayout& layout) {
  if (rows.empty() || !same_layout(rows.back().layout, layout)) rows.push_back({offset, layout});
}

// The part of [begin, end) that lies in the body, as offsets.
DebugUnwindRange cut(const UnwindedBody& body, Address begin, Address end) {
  if (begin < body.start || begin - body.start >= body.size || end <= begin)
    throw_corrupt(begin, "unwind data of code outside of its method,");
  return {.begin = static_cast<std::uint32_t>(begin - body.start),
          .end = static_cast<std::uint32_t>(std::min<Address>(end - body.start, body.size))};
}

// Rows of prologue and body from `begin` on.
Rows prologue_rows(const X64UnwindChain& chain, std::uint32_t begin, std::uint32_t size) {
  // The codes stand in descending order; other records' prologues have run.
  std::vector<std::uint32_t> changes{0};
  for (const X64UnwindCode& code : chain.links.front().info.codes) changes.push_back(code.prolog_offset);
  std::ranges::sort(changes);
  Rows rows;
  for (const std::uint32_t offset : changes)
    if (offset < size) add_row(rows, begin + offset, x64_layout_at(chain, chain.begin() + offset));
  return rows;
}

// Could an epilogue begin with these bytes? Most instructions are ruled out by their first one.
bool may_begin_epilogue(unsigned first, unsigned second) {
  if (first >= 0x58 && first < 0x60) return true; // pop
  if ((first & 0xF0) == 0x40)                     // with a prefix: pop, add, lea, jmp
    return (second >= 0x58 && second < 0x60) || second == 0x83 || second == 0x81 || second == 0x8D ||
           second == 0xFF;
  return first == 0xC3 || first == 0xC2 || first == 0xF3 || first == 0xF2 || first == 0xEB || first == 0xE9 ||
         first == 0xFF;
}

// The rows `plain` of prologue and body with those of epilogues between them. A row lies at the start of an
// instruction only, and behind an epilogue the rows of the body go on: by the frame pointer, once the code
// right behind the prologue has set it.
Rows with_epilogues(const Rows& plain, const UnwindedBody& body, const X64UnwindChain& chain,
                    const DebugUnwindRange& range) {
  const X64FunctionRange function{chain.begin(), chain.end(), chain.chained()};
  Rows rows;
  std::size_t next_plain = 0;
  const FrameLayout* current = nullptr;    // what holds outside of epilogues
  const FrameLayout* last_added = nullptr; // of the row that was added last; null: an epilogue's
  std::optional<FrameLayout> by_frame_pointer;
  std::optional<std::int64_t> frame_pointer; // rbp - rsp, once the instruction before set it
  std::size_t left = max_before_frame_pointer;
  for (const std::uint32_t at : body.instructions->between(range.begin, range.end)) {
    while (next_plain < plain.size() && plain[next_plain].offset <= at) current = &plain[next_plain++].layout;
    const std::span<const std::byte> code = body.instructions->from(at);
    if (frame_pointer) {
      by_frame_pointer = x64_layout_by_frame_pointer(plain.back().layout, *frame_pointer);
      if (by_frame_pointer) current = &*by_frame_pointer;
      frame_pointer.reset();
    } else if (next_plain == plain.size() && left != 0) {
      frame_pointer = x64_frame_pointer_set(code);
      left = frame_pointer ? 0 : left - 1;
    }
    std::optional<FrameLayout> epilogue;
    if (may_begin_epilogue(std::to_integer<unsigned>(code[0]),
                           code.size() > 1 ? std::to_integer<unsigned>(code[1]) : 0))
      epilogue = x64_epilogue_layout(body.instructions->memory(), body.start + at, chain.frame_register(),
                                     function, body.same_method);
    if (!epilogue && last_added == current) continue;
    add_row(rows, at, epilogue ? *epilogue : *current);
    last_added = epilogue ? nullptr : current;
  }
  return rows;
}

} // namespace

UnwindRows::UnwindRows(MemoryReader& memory, Cpu cpu)
    : memory_(&memory), form_(architecture_with_stacks(cpu).unwind_data.kind) {}

DebugUnwindRange UnwindRows::of_function(const UnwindedBody& body, Address entry, Address base) {
  return form_ == UnwindDataForm::Kind::codes ? x64(body, entry, base) : arm64(body, entry, base);
}

void UnwindRows::cut_end(DebugUnwindRange& range, std::uint32_t end) {
  range.end = end;
  Rows rows;
  for (const DebugUnwindRow& row : range.rows)
    if (row.offset < end) rows.push_back(row);
  range.rows = std::move(rows);
}

const DebugUnwindRows* UnwindRows::known_prologue(Address address, std::uint32_t function_size) {
  key_.clear();
  std::array<std::byte, max_kept_info> raw;
  const std::size_t got = memory_->read_some(address, raw);
  if (got < unwind_header) return nullptr;
  const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(raw[index]); };
  const std::size_t size = unwind_header + at(2) * unwind_slot;
  const bool chained = (at(0) >> 3 & X64UnwindInfo::chained_info) != 0;
  if (chained || size > got || at(1) >= function_size) return nullptr;
  key_.assign(reinterpret_cast<const char*>(raw.data()), size);
  const auto known = prologues_.find(key_);
  return known == prologues_.end() ? nullptr : &known->second;
}

DebugUnwindRange UnwindRows::x64(const UnwindedBody& body, Address entry, Address base) {
  const X64RuntimeFunction function = read_x64_runtime_function(*memory_, entry);
  DebugUnwindRange range = cut(body, base + function.begin, base + function.end);
  const bool exact = body.instructions != nullptr && body.instructions->known(range.begin, range.end);
  const std::uint32_t size = range.end - range.begin;
  key_.clear();
  if (!exact && range.begin == 0)
    if (const DebugUnwindRows* const known = known_prologue(base + function.unwind_data, size)) {
      range.rows = *known;
      return range;
    }
  const X64UnwindChain chain = read_x64_unwind_chain(*memory_, entry, base);
  const Rows plain = prologue_rows(chain, range.begin, size);
  if (exact) {
    range.rows = with_epilogues(plain, body, chain, range);
    range.exact = true;
    return range;
  }
  range.rows = plain;
  // A code that says another offset than the prologue's size may have been cut off.
  const bool whole = std::ranges::all_of(chain.links.front().info.codes, [&](const X64UnwindCode& code) {
    return code.prolog_offset <= chain.links.front().info.prolog_size;
  });
  if (!key_.empty() && whole && prologues_.size() < max_prologues) prologues_.emplace(key_, range.rows);
  return range;
}

DebugUnwindRange UnwindRows::arm64(const UnwindedBody& body, Address entry, Address base) {
  const Arm64Function function = read_arm64_function(*memory_, entry, base);
  // An entry that only names its function has a length that nothing tells: up to the next one.
  const Address begin =
      base + (function.at_start_of_parent ? read_arm64_runtime_function(*memory_, entry).begin
                                          : function.entry.begin);
  const Address end =
      function.at_start_of_parent ? body.start + body.size : begin + function.info.function_length;
  DebugUnwindRange range = cut(body, begin, end);
  range.exact = true;
  Rows rows;
  if (function.at_start_of_parent)
    add_row(rows, range.begin, arm64_layout_at(function, base, begin));
  else
    for (const std::uint32_t offset : arm64_layout_changes(function.info))
      if (offset < range.end - range.begin)
        add_row(rows, range.begin + offset, arm64_layout_at(function, base, begin + offset));
  range.rows = std::move(rows);
  return range;
}

} // namespace clr
