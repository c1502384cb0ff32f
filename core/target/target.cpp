#include "core/target/target.h"

#include "core/memory/text_encoding.h"
#include "core/target/contract_members.h"
#include "core/target/supplements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace clr {
namespace {

// Strings are read in pieces that end at multiples of this size, so that a string just before missing memory
// can still be read.
constexpr Address string_chunk = 64;
// Longer strings with a stated length are not believed. Messages of exceptions can be long; names are short.
constexpr std::size_t max_string_units = 1 << 20;

// The bytes of a text whose units have type Unit, up to its terminating zero, which is left out.
template<typename Unit>
std::vector<std::byte> read_terminated(MemoryReader& memory, const Platform& platform, Address address,
                                       std::size_t limit) {
  std::vector<std::byte> text;
  std::array<std::byte, string_chunk> raw;
  for (Address at = address;;) {
    const std::size_t want = string_chunk - at % string_chunk / sizeof(Unit) * sizeof(Unit);
    const std::size_t got = memory.read_some(at, std::span(raw).first(want)) / sizeof(Unit) * sizeof(Unit);
    for (std::size_t i = 0; i < got; i += sizeof(Unit)) {
      const auto unit = std::span(raw).subspan(i, sizeof(Unit));
      if (load<Unit>(unit, platform.byte_order) == 0) return text;
      if (text.size() / sizeof(Unit) >= limit)
        throw_corrupt(address, fmt::format("string of more than {} characters", limit));
      text.insert(text.end(), unit.begin(), unit.end());
    }
    if (got < want) throw_missing(at + got);
    at = platform.wrap(at + want);
  }
}

} // namespace

Target::Target(MemoryReader& memory, ContractDescriptor descriptor, Platform platform)
    : memory_(&memory), descriptor_(std::move(descriptor)), platform_(descriptor_.platform) {
  withhold_unreadable(descriptor_);
  if (platform_.cpu == Cpu::unknown) platform_.cpu = platform.cpu;
  if (platform_.os == Os::unknown) platform_.os = platform.os;
}

Address Target::read_pointer(Address a) const {
  return platform_.pointer_size == 8 ? read_u64(a) : read_u32(a);
}

Address Target::read_pointer_beside_code(Address a) const {
  std::array<std::byte, sizeof(Address)> raw;
  const std::span<std::byte> out = std::span(raw).first(platform_.pointer_size);
  const Address at = platform_.wrap(a);
  if (const std::size_t got = memory_->read_data_some(at, out); got < out.size()) throw_missing(at + got);
  return platform_.pointer_size == 8 ? load<std::uint64_t>(raw, platform_.byte_order)
                                     : load<std::uint32_t>(raw, platform_.byte_order);
}

std::string Target::read_utf8(Address a, std::size_t limit) const {
  const auto text = read_terminated<std::uint8_t>(*memory_, platform_, platform_.wrap(a), limit);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::string Target::read_utf16(Address a, std::size_t limit) const {
  std::string text;
  append_utf8(text, read_terminated<std::uint16_t>(*memory_, platform_, platform_.wrap(a), limit),
              platform_.byte_order);
  return text;
}

std::string Target::read_utf16_units(Address a, std::size_t units) const {
  if (units > max_string_units)
    throw_corrupt(a, fmt::format("string of more than {} characters", max_string_units));
  std::vector<std::byte> raw(units * sizeof(char16_t));
  read_bytes(a, raw);
  std::string text;
  append_utf8(text, raw, platform_.byte_order);
  return text;
}

std::optional<std::int64_t> Target::find_offset(std::string_view type, std::string_view field) const {
  if (const auto found = descriptor_.types.find(type); found != descriptor_.types.end())
    if (const auto entry = found->second.fields.find(field); entry != found->second.fields.end())
      return entry->second.offset;
  return supplement_offset(*this, type, field);
}

std::optional<std::uint64_t> Target::find_size(std::string_view type) const {
  if (const auto found = descriptor_.types.find(type); found != descriptor_.types.end() && found->second.size)
    return *found->second.size;
  return supplement_size(*this, type);
}

bool Target::is_supplemented(std::string_view type, std::string_view field) const {
  const auto found = descriptor_.types.find(type);
  return (found == descriptor_.types.end() || !found->second.fields.contains(field)) &&
         supplement_offset(*this, type, field);
}

void Target::check_contract(std::string_view contract) const {
  if (contract.empty()) return;
  if (const ContractUse use = contract_use(descriptor_, contract); !use.fault.empty())
    throw Error(ErrorKind::unsupported_contract, use.fault);
}

std::int64_t Target::offset(std::string_view type, std::string_view field) const {
  if (const auto found = find_offset(type, field)) return *found;
  check_contract(contract_of_type(type));
  throw Error(ErrorKind::unsupported_contract,
              fmt::format("the runtime's descriptor has no field {}.{}", type, field));
}

std::uint64_t Target::size_of(std::string_view type) const {
  if (const auto found = find_size(type)) return *found;
  check_contract(contract_of_type(type));
  throw Error(ErrorKind::unsupported_contract,
              fmt::format("the runtime's descriptor has no size of {}", type));
}

Address Target::field_address(Address base, std::string_view type, std::string_view field) const {
  return platform_.wrap(base + static_cast<Address>(offset(type, field)));
}

std::optional<std::uint64_t> Target::find_global(std::string_view name) const {
  const auto found = descriptor_.globals.find(name);
  if (found == descriptor_.globals.end() || !found->second.number) return std::nullopt;
  if (found->second.indirect && *found->second.number == 0) return std::nullopt;
  return found->second.number;
}

std::optional<std::string> Target::find_global_string(std::string_view name) const {
  const auto found = descriptor_.globals.find(name);
  return found == descriptor_.globals.end() ? std::nullopt : found->second.text;
}

std::uint64_t Target::global(std::string_view name) const {
  if (const auto found = find_global(name)) return *found;
  check_contract(contract_of_global(name));
  throw Error(ErrorKind::unsupported_contract,
              fmt::format("the runtime's descriptor has no global {}", name));
}

std::optional<unsigned> Target::find_contract_form(std::string_view contract) const {
  check_contract(contract);
  return contract_use(descriptor_, contract).form;
}

bool Target::has_type(std::string_view type) const {
  return descriptor_.types.contains(type);
}

} // namespace clr
