#include "tests/support/target_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace clr::test {

unsigned TargetBuilder::width_of(Width width) const {
  switch (width) {
  case Width::u8:
    return 1;
  case Width::u16:
    return 2;
  case Width::u32:
    return 4;
  case Width::u64:
    return 8;
  case Width::pointer:
  case Width::bytes:
    break;
  }
  return platform().pointer_size;
}

TargetBuilder& TargetBuilder::type(const std::string& name, const std::vector<FieldSpec>& fields,
                                   std::optional<std::uint32_t> size) {
  TypeDescriptor& type = descriptor_.types[name];
  Layout& layout = layouts_[name];
  std::uint64_t next = layout.end;
  for (const FieldSpec& field : fields) {
    const unsigned width = width_of(field.width);
    const std::int64_t offset =
        field.offset.value_or(static_cast<std::int64_t>((next + width - 1) / width * width));
    type.fields[field.name] = {offset, field.annotation};
    layout.widths[field.name] = field.width;
    next = static_cast<std::uint64_t>(offset) + (field.width == Width::bytes ? field.count : width);
    if (offset >= 0) layout.end = std::max(layout.end, next);
  }
  if (!size)
    type.size = static_cast<std::uint32_t>((layout.end + platform().pointer_size - 1) /
                                           platform().pointer_size * platform().pointer_size);
  else if (*size != 0)
    type.size = *size;
  else
    type.size.reset();
  return *this;
}

TargetBuilder& TargetBuilder::contract(const std::string& name, unsigned version) {
  return contract(name, std::to_string(version));
}

TargetBuilder& TargetBuilder::contract(const std::string& name, const std::string& version) {
  descriptor_.contracts[name] = version;
  return *this;
}

TargetBuilder& TargetBuilder::as_net11() {
  descriptor_.version = descriptor_format_names;
  for (const char* name : {"CodeVersions", "DebugInfo", "EcmaMetadata", "Exception", "ExecutionManager",
                           "GCInfo", "Loader", "Object", "PlatformMetadata", "PrecodeStubs", "RuntimeInfo",
                           "RuntimeTypeSystem", "Signature", "StackWalk", "SyncBlock", "Thread"})
    contract(name, "c1");
  return *this;
}

TargetBuilder& TargetBuilder::global(const std::string& name, std::uint64_t value, const std::string& type) {
  descriptor_.globals[name] = {.number = value, .text = {}, .type = type, .indirect = false};
  return *this;
}

TargetBuilder& TargetBuilder::global(const std::string& name, const std::string& text) {
  descriptor_.globals[name] = {.number = {}, .text = text, .type = "string", .indirect = false};
  return *this;
}

TargetBuilder& TargetBuilder::pointer_global(const std::string& name, Address slot) {
  descriptor_.globals[name] = {.number = slot, .text = {}, .type = "pointer", .indirect = true};
  return *this;
}

Address TargetBuilder::variable(const std::string& name, Address value) {
  const Address variable = memory_.allocate(platform().pointer_size);
  memory_.at(variable).pointer(value);
  pointer_global(name, variable);
  return variable;
}

TargetBuilder& TargetBuilder::merge(const ContractDescriptor& descriptor) {
  for (const auto& [name, type] : descriptor.types) {
    descriptor_.types[name] = type;
    Layout& layout = layouts_[name];
    for (const auto& [field, spec] : type.fields)
      layout.end = std::max<std::uint64_t>(layout.end, static_cast<std::uint64_t>(spec.offset) + 8);
  }
  for (const auto& [name, global] : descriptor.globals) descriptor_.globals[name] = global;
  for (const auto& [name, version] : descriptor.contracts) descriptor_.contracts[name] = version;
  return *this;
}

std::int64_t TargetBuilder::offset(std::string_view type, std::string_view field) const {
  if (const auto found = descriptor_.types.find(type); found != descriptor_.types.end())
    if (const auto entry = found->second.fields.find(field); entry != found->second.fields.end())
      return entry->second.offset;
  throw std::logic_error("no field " + std::string(type) + "." + std::string(field));
}

std::uint64_t TargetBuilder::size_of(std::string_view type) const {
  const auto found = descriptor_.types.find(type);
  if (found == descriptor_.types.end()) throw std::logic_error("no type " + std::string(type));
  const auto layout = layouts_.find(type);
  return std::max<std::uint64_t>(found->second.size.value_or(0),
                                 layout == layouts_.end() ? 0 : layout->second.end);
}

Address TargetBuilder::record(std::string_view type, const FieldValues& values, std::size_t tail) {
  const Address address = memory_.allocate(size_of(type) + tail);
  for (const auto& [field, value] : values) set(address, type, field, value);
  return address;
}

Address TargetBuilder::record_at(Address address, std::string_view type, const FieldValues& values) {
  memory_.at(address).fill(size_of(type));
  for (const auto& [field, value] : values) set(address, type, field, value);
  return address;
}

void TargetBuilder::set(Address record, std::string_view type, std::string_view field, std::uint64_t value) {
  const Address at = record + static_cast<Address>(offset(type, field));
  Width width = Width::pointer;
  if (const auto layout = layouts_.find(type); layout != layouts_.end())
    if (const auto known = layout->second.widths.find(field); known != layout->second.widths.end())
      width = known->second;
  memory_.write_integer(at, value, width_of(width));
}

ContractDescriptor TargetBuilder::contract_descriptor() const {
  ContractDescriptor descriptor = descriptor_;
  descriptor.platform = platform();
  return descriptor;
}

std::vector<Address> TargetBuilder::slots() const {
  std::vector<Address> slots{0};
  for (const auto& [name, global] : descriptor_.globals)
    if (global.indirect) slots.push_back(*global.number);
  return slots;
}

std::string TargetBuilder::json() const {
  using nlohmann::json;
  json root{{"version", descriptor_.version}, {"baseline", "empty"}};
  json& types = root["types"] = json::object();
  for (const auto& [name, type] : descriptor_.types) {
    json& fields = types[name] = json::object();
    if (type.size) fields["!"] = *type.size;
    for (const auto& [field, spec] : type.fields)
      fields[field] = spec.type.empty() ? json(spec.offset) : json::array({spec.offset, spec.type});
  }
  json& globals = root["globals"] = json::object();
  std::size_t slot = 0;
  for (const auto& [name, global] : descriptor_.globals) {
    json value = global.indirect ? json::array({++slot})
                 : global.text   ? json(*global.text)
                                 : json(*global.number);
    if (!global.type.empty()) value = json::array({value, global.type});
    globals[name] = value;
  }
  json& contracts = root["contracts"] = json::object();
  for (const auto& [name, version] : descriptor_.contracts) {
    const bool number = !version.empty() && version.find_first_not_of("0123456789") == std::string::npos;
    contracts[name] = number ? json(std::stoul(version)) : json(version);
  }
  return root.dump();
}

Address TargetBuilder::write_descriptor(std::string_view json, const std::vector<Address>& slots) {
  const Address text = memory_.place(std::as_bytes(std::span(json)));
  const Address table = memory_.allocate(slots.size() * platform().pointer_size);
  MemoryCursor cursor = memory_.at(table);
  for (const Address slot : slots) cursor.pointer(slot);
  return write_structure(text, json.size(), table, slots.size());
}

Address TargetBuilder::write_structure(Address json, std::uint64_t json_size, Address slots,
                                       std::uint64_t slot_count) {
  const bool is_64 = platform().pointer_size == 8;
  const Address address = memory_.allocate(is_64 ? 40 : 32);
  memory_.at(address)
      .u64(0x0043'4144'4343'4E44) // "DNCCDAC" on little endian
      .u32(is_64 ? 1 : 3)
      .u32(json_size)
      .pointer(json)
      .u32(slot_count)
      .u32(0)
      .pointer(slots);
  return address;
}

} // namespace clr::test
