#include "core/objects/thread_statics.h"

namespace clr {
namespace {

constexpr std::uint32_t not_allocated = 0xffff'ffff;
constexpr std::uint32_t index_mask = 0x00ff'ffff;
constexpr unsigned kind_shift = 24;
enum class IndexKind : std::uint8_t { non_collectible = 0, collectible = 1, direct = 2 };

// The object that holds the statics of one type for one thread; 0: none yet.
Address holder(const Target& target, Address data, IndexKind kind, std::uint32_t index) {
  const auto field = [&](std::string_view name) {
    return target.field_address(data, "ThreadLocalData", name);
  };
  if (kind == IndexKind::collectible) {
    if (index >= target.read_u32(field("CollectibleTlsDataCount"))) return 0;
    const Address handles = target.read_pointer(field("CollectibleTlsArrayData"));
    const Address handle = target.read_pointer(handles + Address{index} * target.pointer_size());
    return handle == 0 ? 0 : target.read_pointer(handle);
  }
  const std::uint64_t unused = target.global("NumberOfTlsOffsetsNotUsedInNoncollectibleArray");
  if (index >= target.read_u32(field("NonCollectibleTlsDataCount")) || index < unused) return 0;
  const Address array = target.read_pointer(field("NonCollectibleTlsArrayData"));
  if (array == 0) return 0;
  return target.read_pointer(array + target.global("PtrArrayOffsetToDataArray") +
                             (index - unused) * target.pointer_size());
}

} // namespace

std::optional<Address> thread_static_address(const Target& target, const MethodTable& table,
                                             const FieldLayout& field, Address thread) {
  const Address auxiliary =
      target.read_pointer(target.field_address(table.address, "MethodTable", "AuxiliaryData"));
  if (auxiliary == 0) return std::nullopt;
  const Address info = auxiliary - target.size_of("ThreadStaticsInfo");
  const Address index_at =
      target.field_address(info, "ThreadStaticsInfo", field.in_gc_statics ? "GCTlsIndex" : "NonGCTlsIndex");
  const std::uint32_t raw = target.read_u32(target.field_address(index_at, "TLSIndex", "TLSIndexRawIndex"));
  if (raw == not_allocated) return std::nullopt;
  const Address data = target.read_pointer(target.field_address(thread, "Thread", "ThreadLocalDataPtr"));
  if (data == 0) return std::nullopt;
  const std::uint32_t index = raw & index_mask;
  const std::uint32_t kind = raw >> kind_shift;
  if (kind > static_cast<std::uint32_t>(IndexKind::direct))
    throw_corrupt(index_at, "a thread static of an unknown kind");
  if (static_cast<IndexKind>(kind) == IndexKind::direct)
    return target.platform().wrap(data + index + field.offset);
  const Address object = holder(target, data, static_cast<IndexKind>(kind), index);
  if (object == 0) return std::nullopt;
  // The offsets of these fields count from the holder itself.
  return target.platform().wrap(object + field.offset);
}

} // namespace clr
