#include "core/types/call_counting.h"

namespace clr {
namespace {

// [rt] vm/callcounting.h, CallCountingInfo::Stage
constexpr std::uint8_t stage_disabled = 4;
// [rt] vm/codeversion.h, NativeCodeVersion::StorageKind: a synthetic version is the method's default one.
constexpr std::uint32_t storage_explicit = 1, storage_synthetic = 2;

} // namespace

CallCounting::CallCounting(const Target& target) : target_(&target) {}

std::optional<CallCounting::Table> CallCounting::find_table() const {
  const auto manager_offset = target_->find_offset("LoaderAllocator", "CallCountingManager");
  const auto system_domain = target_->find_global("SystemDomain");
  if (!manager_offset || !system_domain || !target_->find_offset("CallCountingInfo", "Stage"))
    return std::nullopt;
  // Only methods of the global loader allocator are eligible for tiering; collectible code is not.
  const Address domain = target_->read_pointer(*system_domain);
  if (domain == 0) return std::nullopt;
  const Address allocator = target_->field_address(domain, "SystemDomain", "GlobalLoaderAllocator");
  const Address manager = target_->read_pointer(allocator + static_cast<Address>(*manager_offset));
  if (manager == 0) return std::nullopt;
  const Address hash = target_->field_address(manager, "CallCountingManager", "InfoByCodeVersion");
  Table table;
  table.elements = target_->read_pointer(target_->field_address(hash, "SHash", "Table"));
  table.size = target_->read_u32(target_->field_address(hash, "SHash", "TableSize"));
  const auto count = target_->read_u32(target_->field_address(hash, "SHash", "TableCount"));
  const auto occupied = target_->read_u32(target_->field_address(hash, "SHash", "TableOccupied"));
  const auto max = target_->read_u32(target_->field_address(hash, "SHash", "TableMax"));
  // The supplement's offset is not published by the runtime itself, so the object is believed only if it is a
  // hash table in working order.
  if (table.size > max_table || count > occupied || occupied > max) return std::nullopt;
  if (table.size == 0 ? max != 0 : (max >= table.size || table.elements == 0)) return std::nullopt;
  table.storage_kind = table.span.require(*target_, "StorageKind", 4);
  table.method_desc = table.span.require(*target_, "MethodDesc", target_->pointer_size());
  table.stage = table.span.require(*target_, "Stage", 1);
  return table;
}

std::optional<bool> CallCounting::look_up(const Table& table, Address method_desc) const {
  if (table.size == 0) return true;
  const auto hash = static_cast<std::uint32_t>(method_desc); // plus the version's id, 0 for the default one
  const std::uint32_t step = table.size > 1 ? hash % (table.size - 1) + 1 : 0;
  const std::uint64_t pointer = target_->pointer_size();
  const Address deleted = target_->platform().wrap(~Address{0});
  std::uint64_t index = hash % table.size;
  for (unsigned probes = 0; probes < max_probes; ++probes) {
    const Address info = target_->read_pointer(table.elements + index * pointer);
    if (info == 0) return true; // not counted yet
    if (info != deleted) {
      const target::Record raw(*target_, info, table.span);
      const std::uint32_t kind = raw.u32(table.storage_kind);
      if (kind != storage_explicit && kind != storage_synthetic) return std::nullopt;
      if (kind == storage_synthetic && raw.pointer(table.method_desc) == method_desc) {
        const std::uint8_t stage = raw.u8(table.stage);
        if (stage > stage_disabled) return std::nullopt;
        return stage != stage_disabled;
      }
    }
    if (step == 0) return true;
    index = (index + step) % table.size;
  }
  return std::nullopt;
}

std::optional<bool> CallCounting::enabled(Address method_desc) {
  try {
    if (!searched_) {
      table_ = find_table();
      searched_ = true;
    }
    return table_ ? look_up(*table_, method_desc) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt; // not in the dump
  }
}

} // namespace clr
