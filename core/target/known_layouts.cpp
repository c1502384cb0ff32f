#include "core/target/known_layouts.h"

#include "core/target/known_layouts_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace clr {
namespace {

constexpr std::uint64_t max_table_bytes = 64 * 1024;

struct Root {
  std::string_view global;
  std::size_t slot;
};
// .NET 10. Checked against the pointer table of 10.0.12's descriptor, and against 10.0.0 on musl.
constexpr std::array net10_roots{Root{"ExecutionManagerCodeRangeMapAddress", 0},
                                 Root{"ThreadStore", 15},
                                 Root{"FinalizerThread", 16},
                                 Root{"AppDomain", 20},
                                 Root{"SystemDomain", 21},
                                 Root{"ObjectMethodTable", 42},
                                 Root{"StringMethodTable", 45},
                                 Root{"ExceptionMethodTable", 49},
                                 Root{"FreeObjectMethodTable", 56}};
// .NET 9 has one slot more in front of most of these. Checked against the pointer table of 9.0.22's
// descriptor.
constexpr std::array net9_roots{Root{"ExecutionManagerCodeRangeMapAddress", 0},
                                Root{"ThreadStore", 16},
                                Root{"FinalizerThread", 17},
                                Root{"AppDomain", 21},
                                Root{"ObjectMethodTable", 43},
                                Root{"StringMethodTable", 46},
                                Root{"ExceptionMethodTable", 50},
                                Root{"FreeObjectMethodTable", 57}};
constexpr std::size_t net9_table = 158;
// Servicing releases of .NET 10 added a slot in the middle; the slot of the precode metadata keeps its
// distance from the end.
constexpr std::size_t platform_metadata_from_end = 39;
constexpr std::size_t net10_smallest_table = 128, net10_largest_table = 129;

// Types for code lookup. .NET 9 has them but does not publish them.
constexpr std::array<std::string_view, 14> code_lookup_types{
    "RangeSectionMap", "RangeSectionFragment", "RangeSection",       "CodeHeapListNode",     "RealCodeHeader",
    "RuntimeFunction", "UnwindInfo",           "ReadyToRunInfo",     "ReadyToRunHeader",     "HashMap",
    "Bucket",          "ImageDataDirectory",   "MethodDescCodeData", "NativeCodeVersionNode"};

std::vector<Address> read_table(MemoryReader& memory, const DacTable& table, ByteOrder order) {
  if (table.size > max_table_bytes || table.size % 8 != 0)
    throw_corrupt(table.address, fmt::format("g_dacTable of {} bytes", table.size));
  std::vector<std::byte> raw(table.size);
  memory.read(table.address, raw);
  std::vector<Address> slots(raw.size() / 8);
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = load<std::uint64_t>(std::span(raw).subspan(8 * i), order);
  return slots;
}

void set_root(ContractDescriptor& descriptor, std::string_view global, const std::vector<Address>& slots,
              std::size_t slot) {
  if (slot < slots.size() && slots[slot] != 0)
    descriptor.globals.try_emplace(
        std::string(global),
        GlobalDescriptor{.number = slots[slot], .text = {}, .type = "pointer", .indirect = true});
}

// Adds `differences` to `onto`; their fields and sizes replace existing ones.
void overlay(ContractDescriptor& onto, const ContractDescriptor& differences) {
  for (const auto& [name, type] : differences.types) {
    TypeDescriptor& target = onto.types[name];
    if (type.size) target.size = type.size;
    for (const auto& [field, descriptor] : type.fields) target.fields[field] = descriptor;
  }
}

void complete_net9(ContractDescriptor& descriptor, const std::vector<Address>& slots) {
  ContractDescriptor known = parse_contract_json(net10_x64_layouts);
  overlay(known, parse_contract_json(net9_x64_differences));
  for (const std::string_view name : code_lookup_types)
    if (const auto type = known.types.find(name); type != known.types.end()) descriptor.types.insert(*type);
  descriptor.types["Module"].fields.insert(known.types["Module"].fields.extract("ReadyToRunInfo"));
  // Where a thread keeps its static references.
  descriptor.types["ThreadLocalData"].fields.insert(
      known.types["ThreadLocalData"].fields.extract("NonCollectibleTlsArrayData"));
  descriptor.types["Thread"].fields.insert(known.types["Thread"].fields.extract("ThreadLocalDataPtr"));
  // NumDicts tells which of a type's dictionaries is its own. [rt] src/coreclr/vm/methodtable.h
  descriptor.types["GenericsDictInfo"].fields.insert(
      known.types["GenericsDictInfo"].fields.extract("NumDicts"));
  // That generation has the linear nibble map.
  descriptor.contracts.try_emplace("ExecutionManager", "1");
  set_root(descriptor, net10_roots[0].global, slots, net10_roots[0].slot);
}

void complete_net10(ContractDescriptor& descriptor, const std::vector<Address>& slots) {
  const Platform platform = descriptor.platform;
  descriptor = parse_contract_json(net10_x64_layouts);
  descriptor.platform = platform;
  if (platform.cpu == Cpu::arm64) { // what was measured there in another way than on x64
    overlay(descriptor, parse_contract_json(net10_arm64_differences));
    descriptor.types["RuntimeFunction"].fields.erase("EndAddress");
    descriptor.types["CalleeSavedRegisters"].fields.clear();
  }
  for (const Root& root : net10_roots) set_root(descriptor, root.global, slots, root.slot);
  set_root(descriptor, "PlatformMetadata", slots, slots.size() - platform_metadata_from_end);
}

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(ErrorKind::unsupported_contract, what);
}

} // namespace

bool complete_from_dac_table(MemoryReader& memory, const DacTable& table, ContractDescriptor& descriptor) {
  const Platform platform = descriptor.platform;
  // The layouts were taken from runtimes of these CPUs.
  if (platform.pointer_size != 8 || (platform.cpu != Cpu::x64 && platform.cpu != Cpu::arm64))
    unsupported(fmt::format("the layouts of this runtime for {} are not known", to_string(platform.cpu)));
  const std::vector<Address> slots = read_table(memory, table, platform.byte_order);
  if (std::ranges::all_of(slots, [](Address slot) { return slot == 0; })) return false;
  if (slots[0] == 0) throw_corrupt(table.address, "a g_dacTable without a range section map");
  const bool net10 = slots.size() >= net10_smallest_table && slots.size() <= net10_largest_table;
  const bool described = !descriptor.types.empty();
  if (!described && net10) {
    complete_net10(descriptor, slots);
    return true;
  }
  if (platform.cpu != Cpu::x64) unsupported("the code lookup of .NET 9 is supported on x64 only");
  if (!described && slots.size() != net9_table)
    unsupported(
        fmt::format("the runtime publishes no data descriptor, and its layouts (g_dacTable of {} entries) "
                    "are not known; .NET 9 and later are supported",
                    slots.size()));
  if (!described) {
    descriptor = parse_contract_json(net9_x64_layouts);
    descriptor.platform = platform;
    for (const Root& root : net9_roots) set_root(descriptor, root.global, slots, root.slot);
  }
  complete_net9(descriptor, slots);
  return true;
}

} // namespace clr
