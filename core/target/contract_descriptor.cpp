#include "core/target/contract_descriptor.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>

namespace clr {
namespace {

// A real descriptor has 10 KiB of JSON and 24 slots; anything near these limits is no descriptor.
constexpr std::uint32_t max_json_bytes = 4 * 1024 * 1024;
constexpr std::uint32_t max_slots = 64 * 1024;
constexpr unsigned max_sub_descriptor_depth = 16;
constexpr std::size_t max_descriptors = 64;

constexpr std::array<unsigned char, 8> magic_little{'D', 'N', 'C', 'C', 'D', 'A', 'C', 0};
constexpr std::array<unsigned char, 8> magic_big{0, 'C', 'A', 'D', 'C', 'C', 'N', 'D'};

// The structure DotNetRuntimeContractDescriptor in memory.
struct Structure {
  Platform platform;
  Address json = 0;
  std::uint32_t json_size = 0;
  Address slots = 0;
  std::uint32_t slot_count = 0;
};

Address load_pointer(std::span<const std::byte> bytes, const Platform& platform) {
  return platform.pointer_size == 8 ? load<std::uint64_t>(bytes, platform.byte_order)
                                    : load<std::uint32_t>(bytes, platform.byte_order);
}

Structure read_structure(MemoryReader& memory, Address address) {
  constexpr std::size_t size_32 = 32, size_64 = 40;
  std::array<std::byte, size_64> raw{};
  const std::span<const std::byte> bytes(raw);
  // A 32-bit structure is smaller and may lie at the end of its memory.
  const std::size_t got = memory.read_some(address, raw);
  if (got < size_32) throw_missing(address + got);
  Structure structure;
  if (std::memcmp(raw.data(), magic_little.data(), magic_little.size()) == 0)
    structure.platform.byte_order = ByteOrder::little;
  else if (std::memcmp(raw.data(), magic_big.data(), magic_big.size()) == 0)
    structure.platform.byte_order = ByteOrder::big;
  else
    throw_corrupt(address, "no contract descriptor: wrong magic");
  const ByteOrder order = structure.platform.byte_order;
  const auto flags = load<std::uint32_t>(bytes.subspan(8), order);
  if ((flags & 1) == 0) throw_corrupt(address, fmt::format("contract descriptor with flags {:#x}", flags));
  structure.platform.pointer_size = (flags & 2) != 0 ? 4 : 8;
  structure.json_size = load<std::uint32_t>(bytes.subspan(12), order);
  structure.json = load_pointer(bytes.subspan(16), structure.platform);
  const bool is_64 = structure.platform.pointer_size == 8;
  if (is_64 && got < size_64) throw_missing(address + got);
  structure.slot_count = load<std::uint32_t>(bytes.subspan(is_64 ? 24 : 20), order);
  structure.slots = load_pointer(bytes.subspan(is_64 ? 32 : 28), structure.platform);
  if (structure.json_size > max_json_bytes)
    throw_corrupt(address, fmt::format("contract descriptor with {} bytes of JSON", structure.json_size));
  if (structure.slot_count > max_slots)
    throw_corrupt(address, fmt::format("contract descriptor with {} pointers", structure.slot_count));
  return structure;
}

RawDescriptor read_parts(MemoryReader& memory, const Structure& structure) {
  RawDescriptor raw{.platform = structure.platform, .json = std::string(structure.json_size, '\0')};
  memory.read(structure.json, std::as_writable_bytes(std::span(raw.json)));
  std::vector<std::byte> slots(std::size_t{structure.slot_count} * structure.platform.pointer_size);
  memory.read(structure.slots, slots);
  for (std::size_t at = 0; at < slots.size(); at += structure.platform.pointer_size)
    raw.slots.push_back(load_pointer(std::span(slots).subspan(at), structure.platform));
  return raw;
}

// Reads one structure after the other and merges them into one descriptor.
class DescriptorReader {
public:
  DescriptorReader(MemoryReader& memory, DescriptorRoom& room) : memory_(memory), room_(room) {}

  ContractDescriptor read(Address address) {
    ContractDescriptor descriptor = read_one(address, 0);
    descriptor.address = address;
    add_platform(descriptor);
    return descriptor;
  }
  ContractDescriptor resolve(const RawDescriptor& raw) {
    ContractDescriptor descriptor = resolve(raw, 0, 0);
    add_platform(descriptor);
    return descriptor;
  }

private:
  static void add_platform(ContractDescriptor& descriptor) {
    if (const auto cpu = descriptor.globals.find("Architecture");
        cpu != descriptor.globals.end() && cpu->second.text)
      descriptor.platform.cpu = cpu_from_name(*cpu->second.text);
    if (const auto os = descriptor.globals.find("OperatingSystem");
        os != descriptor.globals.end() && os->second.text) {
      std::string name = *os->second.text;
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      // In .NET 10, gcc expanded the macro `unix` in the published name, so "1" also means unix.
      if (name == "unix" || name == "1" || name == "browser") descriptor.platform.os = Os::unix_like;
      if (name == "windows") descriptor.platform.os = Os::windows;
      if (name == "apple") descriptor.platform.os = Os::apple;
    }
  }

  ContractDescriptor read_one(Address address, unsigned depth) {
    seen_.insert(address);
    const Structure structure = read_structure(memory_, address);
    const std::uint64_t size =
        structure.json_size + std::uint64_t{structure.slot_count} * structure.platform.pointer_size;
    if (size > room_.left)
      throw_corrupt(address, fmt::format("descriptors of more than {} bytes together: no room for the one",
                                         DescriptorRoom::max_bytes));
    room_.left -= size;
    return resolve(read_parts(memory_, structure), address, depth);
  }

  ContractDescriptor resolve(const RawDescriptor& raw, Address address, unsigned depth) {
    ContractDescriptor descriptor = parse_contract_json(raw.json);
    descriptor.platform = raw.platform;
    const auto take_slot = [&](const std::string& name, GlobalDescriptor& global) {
      if (*global.number >= raw.slots.size())
        throw_corrupt(address, fmt::format("{} is pointer {} of {}", name, *global.number, raw.slots.size()));
      global.number = raw.slots[*global.number];
      global.text.reset();
    };
    for (auto& [name, global] : descriptor.globals)
      if (global.indirect) take_slot(name, global);
    std::size_t left_out = 0;
    for (auto& [name, slot] : std::exchange(descriptor.sub_descriptors, {})) {
      if (looked_at_ == ContractDescriptor::max_sub_descriptors) {
        ++left_out;
        continue;
      }
      ++looked_at_;
      try {
        take_slot(name, slot);
        if (!merge_sub_descriptor(descriptor, *slot.number, depth))
          descriptor.sub_descriptors.emplace(name, std::move(slot));
      } catch (const Error& error) {
        const std::string problem = fmt::format("the descriptor {}: {}", name, error.what());
        descriptor.problems.emplace_back(cut_utf8(problem, ContractDescriptor::max_problem_bytes));
      }
    }
    if (left_out != 0)
      descriptor.problems.push_back(fmt::format("{} more sub-descriptors are left out", left_out));
    return descriptor;
  }

  // False when the sub-descriptor is not there: that part of the runtime is not initialised yet, or its
  // memory is missing. Throws, and merges nothing, when it is there but wrong.
  bool merge_sub_descriptor(ContractDescriptor& into, Address variable, unsigned depth) {
    if (variable == 0) return false;
    std::array<std::byte, 8> raw{};
    const std::span<std::byte> pointer = std::span(raw).first(into.platform.pointer_size);
    if (memory_.read_some(variable, pointer) < pointer.size()) return false;
    const Address address = load_pointer(pointer, into.platform);
    if (address == 0) return false;
    if (seen_.contains(address)) throw_corrupt(address, "sub-descriptors form a loop");
    if (depth >= max_sub_descriptor_depth || seen_.size() >= max_descriptors)
      throw_corrupt(address, "too many sub-descriptors");
    ContractDescriptor sub;
    try {
      sub = read_one(address, depth + 1);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory_missing) throw;
      return false;
    }
    if (sub.platform.byte_order != into.platform.byte_order ||
        sub.platform.pointer_size != into.platform.pointer_size)
      throw_corrupt(address, "sub-descriptor of another byte order or pointer size");
    if (sub.version != into.version)
      throw_corrupt(address, fmt::format("sub-descriptor of version {} in one of version {}", sub.version,
                                         into.version));
    check_new(into.types, sub.types, address);
    check_new(into.globals, sub.globals, address);
    check_new(into.contracts, sub.contracts, address);
    into.types.merge(sub.types);
    into.globals.merge(sub.globals);
    into.contracts.merge(sub.contracts);
    into.sub_descriptors.merge(sub.sub_descriptors);
    std::ranges::move(sub.problems, std::back_inserter(into.problems));
    return true;
  }

  template<typename Map>
  static void check_new(const Map& into, const Map& from, Address address) {
    for (const auto& entry : from)
      if (into.contains(entry.first))
        throw_corrupt(address, fmt::format("sub-descriptor repeats {}", entry.first));
  }

  MemoryReader& memory_;
  DescriptorRoom& room_;
  std::size_t looked_at_ = 0; // sub-descriptors
  std::set<Address> seen_;
};

} // namespace

RawDescriptor read_raw_descriptor(MemoryReader& memory, Address address) {
  return read_parts(memory, read_structure(memory, address));
}

ContractDescriptor resolve_descriptor(MemoryReader& memory, RawDescriptor raw) {
  DescriptorRoom room;
  return DescriptorReader(memory, room).resolve(raw);
}

ContractDescriptor read_contract_descriptor(MemoryReader& memory, Address address, DescriptorRoom& room) {
  return DescriptorReader(memory, room).read(address);
}

ContractDescriptor read_contract_descriptor(MemoryReader& memory, Address address) {
  DescriptorRoom room;
  return read_contract_descriptor(memory, address, room);
}

} // namespace clr
