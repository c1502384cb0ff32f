#include "core/heap/loader_allocators.h"

#include <array>
#include <span>

namespace clr {
namespace {

// Where in a LoaderAllocator the handle of its managed object may be: it lies among other fields, whose
// number differs by CPU and version.
constexpr std::size_t searched_bytes = 2400;

} // namespace

LoaderAllocators::LoaderAllocators(HeapTypes& types, const GcHandles& handles) : types_(&types) {
  for (const GcHandle& handle : handles.handles)
    if (handle.kind == GcHandleKind::weak_long) weak_.emplace(handle.slot, handle.object);
}

Address LoaderAllocators::of(std::uint32_t type) {
  {
    const std::lock_guard lock(mutex_);
    if (type < known_.size() && known_[type] != unknown) return known_[type];
  }
  const HeapType described = types_->at(type);
  Address allocator = 0;
  if (described.is_collectible()) {
    try {
      const std::lock_guard reading(types_->reading());
      allocator = read(described);
    } catch (const Error&) {
      // Then the edge is not known.
    }
  }
  const std::lock_guard lock(mutex_);
  if (type >= known_.size()) known_.resize(type + 1, unknown);
  return known_[type] = allocator;
}

Address LoaderAllocators::read(const HeapType& type) {
  const Target& target = types_->target();
  const auto follow = [&](Address at, std::string_view of, std::string_view field) {
    return target.read_pointer(target.field_address(at, of, field));
  };
  const Address auxiliary = follow(type.method_table, "MethodTable", "AuxiliaryData");
  const Address module = follow(auxiliary, "MethodTableAuxiliaryData", "LoaderModule");
  const Address allocator = follow(module, "Module", "LoaderAllocator");
  std::array<std::byte, searched_bytes> bytes;
  const std::size_t there = target.memory().read_some(target.platform().wrap(allocator), bytes);
  // The handle is the one word that is the place of a handle of this kind.
  const unsigned width = target.pointer_size();
  const ByteOrder order = target.platform().byte_order;
  for (std::size_t at = 0; at + width <= there; at += width) {
    const auto word = std::span(bytes).subspan(at, width);
    const Address slot = width == 8 ? load<std::uint64_t>(word, order) : load<std::uint32_t>(word, order);
    if (const auto found = weak_.find(slot); found != weak_.end()) return found->second;
  }
  return 0;
}

} // namespace clr
