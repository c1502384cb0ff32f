#include "core/target/contract_descriptor.h"

#include <fmt/format.h>

#include <array>
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

// Reads one structure after the other and merges them into one descriptor.
class DescriptorReader {
public:
  explicit DescriptorReader(MemoryReader& memory) : memory_(memory) {}

  ContractDescriptor read(Address address) {
    ContractDescriptor descriptor = read_one(address, 0);
    descriptor.address = address;
    if (const auto cpu = descriptor.globals.find("Architecture");
        cpu != descriptor.globals.end() && cpu->second.text)
      descriptor.platform.cpu = cpu_from_name(*cpu->second.text);
    if (const auto os = descriptor.globals.find("OperatingSystem");
        os != descriptor.globals.end() && os->second.text) {
      // In .NET 10, gcc expanded the macro `unix` in the published name, so "1" also means unix.
      if (*os->second.text == "unix" || *os->second.text == "1") descriptor.platform.os = Os::unix_like;
      if (*os->second.text == "windows") descriptor.platform.os = Os::windows;
    }
    return descriptor;
  }

private:
  ContractDescriptor read_one(Address address, unsigned depth) {
    seen_.insert(address);
    const Structure structure = read_structure(memory_, address);
    std::string text(structure.json_size, '\0');
    memory_.read(structure.json, std::as_writable_bytes(std::span(text)));
    std::vector<std::byte> slots(std::size_t{structure.slot_count} * structure.platform.pointer_size);
    memory_.read(structure.slots, slots);
    ContractDescriptor descriptor = parse_contract_json(text);
    descriptor.platform = structure.platform;
    const auto resolve = [&](const std::string& name, GlobalDescriptor& global) {
      if (*global.number >= structure.slot_count)
        throw_corrupt(address,
                      fmt::format("{} is pointer {} of {}", name, *global.number, structure.slot_count));
      global.number = load_pointer(std::span(slots).subspan(*global.number * structure.platform.pointer_size),
                                   structure.platform);
      global.text.reset();
    };
    for (auto& [name, global] : descriptor.globals)
      if (global.indirect) resolve(name, global);
    for (auto& [name, slot] : std::exchange(descriptor.sub_descriptors, {})) {
      resolve(name, slot);
      if (!merge_sub_descriptor(descriptor, *slot.number, depth))
        descriptor.sub_descriptors.emplace(name, std::move(slot));
    }
    return descriptor;
  }

  // False when the sub-descriptor is not there: that part of the runtime is not initialised yet, or its
  // memory is missing. Throws when it is there but wrong.
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
    merge(into.types, sub.types, address);
    merge(into.globals, sub.globals, address);
    merge(into.contracts, sub.contracts, address);
    into.sub_descriptors.merge(sub.sub_descriptors);
    return true;
  }

  template<typename Map>
  static void merge(Map& into, Map& from, Address address) {
    into.merge(from);
    if (!from.empty()) throw_corrupt(address, fmt::format("sub-descriptor repeats {}", from.begin()->first));
  }

  MemoryReader& memory_;
  std::set<Address> seen_;
};

} // namespace

ContractDescriptor read_contract_descriptor(MemoryReader& memory, Address address) {
  return DescriptorReader(memory).read(address);
}

} // namespace clr
