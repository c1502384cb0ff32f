#include "core/publish/unwind_rows.h"

#include "core/metadata/byte_range.h"
#include "core/publish/x64_instruction.h"
#include "core/stack/unwind_arm64.h"
#include "core/stack/unwind_x64.h"
#include "core/stack/x64_epilogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// What an instruction at the end of a function may need beyond it.
constexpr std::size_t code_behind = 64;

bool same_layout(const FrameLayout& a, const FrameLayout& b) {
  return a.cfa == b.cfa && a.saved == b.saved && a.stack_pointer_at == b.stack_pointer_at &&
         a.interrupted == b.interrupted && a.signed_return_address == b.signed_return_address &&
         a.outermost == b.outermost;
}

// Appends, unless the row before says the same.
void add_row(std::vector<DebugUnwindRow>& rows, std::uint32_t offset, const FrameLayout& layout) {
  if (rows.empty() || !same_layout(rows.back().layout, layout)) rows.push_back({offset, layout});
}

// The part of [begin, end) that lies in the body, as offsets.
DebugUnwindRange cut(const UnwindedBody& body, Address begin, Address end) {
  if (begin < body.start || begin - body.start >= body.size || end <= begin)
    throw_corrupt(begin, "unwind data of code outside of its method,");
  return {.begin = static_cast<std::uint32_t>(begin - body.start),
          .end = static_cast<std::uint32_t>(std::min<Address>(end - body.start, body.size)),
          .rows = {}};
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

// The code of a function as it lies in the target.
class FunctionCode {
public:
  FunctionCode(MemoryReader& memory, Address begin, std::size_t size) : bytes_(size + code_behind) {
    bytes_.resize(memory.read_some(begin, bytes_));
    if (bytes_.size() < size) throw_missing(begin + bytes_.size());
    memory_.emplace(bytes_, begin);
  }
  std::span<const std::byte> from(std::size_t offset) const {
    return std::span<const std::byte>(bytes_).subspan(offset);
  }
  MemoryReader& memory() { return *memory_; }

private:
  std::vector<std::byte> bytes_;
  std::optional<HostMemory> memory_;
};

// Inserts rows for the epilogues of `range`, which has those of prologue and body. Instructions are told
// apart from the start on; a row lies at the start of one only, and behind an epilogue the rows of the body
// go on. Where an instruction is not known the rows end as they are, and the range is not exact.
void add_epilogues(MemoryReader& memory, const UnwindedBody& body, const X64UnwindChain& chain,
                   DebugUnwindRange& range) {
  const std::uint32_t size = range.end - range.begin;
  FunctionCode code(memory, chain.begin(), size);
  const X64FunctionRange function{chain.begin(), chain.end(), chain.chained()};
  const std::vector<DebugUnwindRow> plain = std::move(range.rows);
  range.rows.clear();
  std::size_t next_plain = 0;
  const FrameLayout* current = nullptr; // what holds outside of epilogues
  for (std::uint32_t at = 0; at < size;) {
    while (next_plain < plain.size() && plain[next_plain].offset <= range.begin + at)
      current = &plain[next_plain++].layout;
    const std::span<const std::byte> rest = code.from(at);
    const unsigned length = x64_instruction_length(rest);
    if (length == 0) {
      add_row(range.rows, range.begin + at, *current);
      range.rows.insert(range.rows.end(), plain.begin() + static_cast<std::ptrdiff_t>(next_plain),
                        plain.end());
      return;
    }
    std::optional<FrameLayout> epilogue;
    if (may_begin_epilogue(std::to_integer<unsigned>(rest[0]),
                           rest.size() > 1 ? std::to_integer<unsigned>(rest[1]) : 0))
      epilogue = x64_epilogue_layout(code.memory(), chain.begin() + at, chain.frame_register(), function,
                                     body.same_method);
    add_row(range.rows, range.begin + at, epilogue ? *epilogue : *current);
    at += length;
  }
  range.exact = true;
}

} // namespace

UnwindRows::UnwindRows(MemoryReader& memory, Cpu cpu) : memory_(&memory), cpu_(cpu) {
  if (cpu != Cpu::x64 && cpu != Cpu::arm64)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("stacks of the CPU {} are not supported", to_string(cpu)));
}

DebugUnwindRange UnwindRows::of_function(const UnwindedBody& body, Address entry, Address base, bool exact) {
  return cpu_ == Cpu::x64 ? x64(body, entry, base, exact) : arm64(body, entry, base);
}

DebugUnwindRange UnwindRows::x64(const UnwindedBody& body, Address entry, Address base, bool exact) {
  const X64UnwindChain chain = read_x64_unwind_chain(*memory_, entry, base);
  DebugUnwindRange range = cut(body, chain.begin(), chain.end());
  const std::uint32_t size = range.end - range.begin;
  // The codes stand in descending order; other records' prologues have run.
  std::vector<std::uint32_t> changes{0};
  for (const X64UnwindCode& code : chain.links.front().info.codes) changes.push_back(code.prolog_offset);
  std::ranges::sort(changes);
  const auto same = std::ranges::unique(changes);
  changes.erase(same.begin(), same.end());
  for (const std::uint32_t offset : changes)
    if (offset < size)
      add_row(range.rows, range.begin + offset, x64_layout_at(chain, chain.begin() + offset));
  if (exact && size <= max_function_bytes) add_epilogues(*memory_, body, chain, range);
  return range;
}

DebugUnwindRange UnwindRows::arm64(const UnwindedBody& body, Address entry, Address base) {
  const Arm64Function function = read_arm64_function(*memory_, entry, base);
  // A fragment that only names its function holds where that function does.
  const Address begin = function.at_start_of_parent
                            ? base + read_arm64_runtime_function(*memory_, entry).begin
                            : base + function.entry.begin;
  const std::uint32_t length = function.at_start_of_parent ? 0 : function.info.function_length;
  DebugUnwindRange range = cut(body, begin, length == 0 ? body.start + body.size : begin + length);
  range.exact = true;
  if (function.at_start_of_parent) {
    add_row(range.rows, range.begin, arm64_layout_at(function, base, begin));
    return range;
  }
  for (const std::uint32_t offset : arm64_layout_changes(function.info))
    if (offset < range.end - range.begin)
      add_row(range.rows, range.begin + offset, arm64_layout_at(function, base, begin + offset));
  return range;
}

} // namespace clr
