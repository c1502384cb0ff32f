#include "core/isa/frame_layout.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t slot_size = 8; // x64 and arm64
// Saved registers that lie this close together are read at once.
constexpr std::size_t max_block = 512;

Address place(const RegisterOffset& at, const RegisterContext& context) {
  return context.get(at.reg) + static_cast<Address>(at.offset);
}

// The stack slots of one frame: one read for all of them where they lie together.
class Slots {
public:
  Slots(MemoryReader& memory, Address low, Address high) : memory_(&memory), low_(low) {
    if (high < low || high - low > max_block - slot_size) return;
    const std::size_t size = static_cast<std::size_t>(high - low) + slot_size;
    block_ = memory.view(low, size);
    if (!block_.empty()) return;
    const std::span<std::byte> room = std::span(buffer_).first(size);
    // A block with a hole is read again slot by slot: each slot is there or missing on its own.
    if (memory.read_some(low, room) == size) block_ = room;
  }

  std::optional<std::uint64_t> read(Address at) const {
    if (!block_.empty()) return load<std::uint64_t>(block_.subspan(at - low_), ByteOrder::little);
    std::byte raw[slot_size];
    if (memory_->read_some(at, raw) < sizeof raw) return std::nullopt;
    return load<std::uint64_t>(raw, ByteOrder::little);
  }

  std::uint64_t need(Address at) const {
    const auto value = read(at);
    if (!value) throw_missing(at);
    return *value;
  }

private:
  MemoryReader* memory_;
  Address low_;
  std::span<const std::byte> block_;
  std::array<std::byte, max_block> buffer_;
};

} // namespace

std::string_view to_string(FoundBy found_by) {
  switch (found_by) {
  case FoundBy::context:
    return "context";
  case FoundBy::unwind_info:
    return "unwind_info";
  case FoundBy::cfi:
    return "cfi";
  case FoundBy::frame_pointer:
    return "frame_pointer";
  case FoundBy::runtime_frame:
    return "runtime_frame";
  case FoundBy::lldb:
    return "lldb";
  case FoundBy::stub:
    return "stub";
  }
  return "context";
}

const SavedRegister* FrameLayout::find(unsigned reg) const {
  const auto it = std::ranges::find(saved, reg, &SavedRegister::reg);
  return it == saved.end() ? nullptr : &*it;
}

void FrameLayout::save(unsigned reg, RegisterOffset at) {
  const auto it = std::ranges::find(saved, reg, &SavedRegister::reg);
  if (it == saved.end())
    saved.push_back({reg, at});
  else
    it->at = at;
}

std::optional<std::int64_t> FrameLayout::offset_from_cfa(const SavedRegister& saved_register) const {
  if (saved_register.at.reg != cfa.reg) return std::nullopt;
  return saved_register.at.offset - cfa.offset;
}

Unwound apply_layout(MemoryReader& memory, const FrameLayout& layout, const RegisterContext& context,
                     FoundBy found_by) {
  Unwound result;
  result.found_by = found_by;
  result.cfa = place(layout.cfa, context);
  if (layout.outermost) {
    result.outermost = true;
    return result;
  }
  const Architecture& architecture = context.architecture();
  const RegisterRoles& roles = architecture.roles;
  result.interrupted = layout.interrupted;
  result.caller = context;
  if (!layout.interrupted) {
    // The live lr of an arm64 leaf is the return address; it is needed below.
    const auto live = context.find(roles.return_address);
    result.caller.forget_volatile();
    if (live) result.caller.set(roles.return_address, *live);
  }

  Address low = ~Address{0}, high = 0;
  const auto extend = [&](Address at) {
    low = std::min(low, at);
    high = std::max(high, at);
  };
  for (const SavedRegister& saved : layout.saved)
    if (saved.reg < roles.count) extend(place(saved.at, context));
  if (layout.stack_pointer_at) extend(place(*layout.stack_pointer_at, context));
  const Slots slots(memory, low, high);

  bool pc_stored = false;
  for (const SavedRegister& saved : layout.saved) {
    if (saved.reg >= roles.count) continue;
    const Address at = place(saved.at, context);
    if (saved.reg == roles.pc || (saved.reg == roles.return_address && !layout.find(roles.pc))) {
      result.caller.set(saved.reg, slots.need(at));
      result.return_address_at = at;
      pc_stored |= saved.reg == roles.pc;
    } else if (const auto value = slots.read(at)) {
      result.caller.set(saved.reg, *value);
    } else {
      result.caller.forget(saved.reg);
    }
  }
  const Address stored_pc = result.caller.get(pc_stored ? roles.pc : roles.return_address);
  result.caller.set_pc(
      architecture.strip_code_pointer == nullptr ? stored_pc : architecture.strip_code_pointer(stored_pc));
  // The call itself overwrote the register with the return address.
  if (!layout.interrupted && !architecture.returns_by_stack()) result.caller.forget(roles.return_address);
  result.caller.set_sp(layout.stack_pointer_at ? slots.need(place(*layout.stack_pointer_at, context))
                                               : result.cfa);
  return result;
}

std::vector<SavedAt> saved_addresses(const FrameLayout& layout, const RegisterContext& context) {
  std::vector<SavedAt> result;
  result.reserve(layout.saved.size());
  for (const SavedRegister& saved : layout.saved) result.push_back({saved.reg, place(saved.at, context)});
  return result;
}

} // namespace clr
