// The runtime's description of itself: DotNetRuntimeContractDescriptor and the JSON that it points to.
// Source: dotnet/runtime docs/design/datacontracts/{contract-descriptor,data_descriptor}.md.
#pragma once

#include "core/memory/memory_reader.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct FieldDescriptor {
  std::int64_t offset = 0;
  std::string type; // empty when the descriptor does not state it
};

struct TypeDescriptor {
  std::optional<std::uint32_t> size; // bytes; absent = indeterminate
  std::map<std::string, FieldDescriptor, std::less<>> fields;
};

struct GlobalDescriptor {
  std::optional<std::uint64_t>
      number; // two's complement for negatives; the slot's content for an indirect global
  std::optional<std::string> text; // the string as written, when the JSON value was a string
  std::string type;
  bool indirect = false; // the value came through the pointer table
};

// One descriptor, with its sub-descriptors merged into it.
struct ContractDescriptor {
  Address address = 0; // of the structure in target memory; 0 when it was made in another way
  Platform platform; // pointer size and byte order from the structure; cpu and os from its globals if present
  unsigned version = 0;
  std::string baseline;
  std::map<std::string, TypeDescriptor, std::less<>> types;
  std::map<std::string, GlobalDescriptor, std::less<>> globals;
  std::map<std::string, std::string, std::less<>> contracts; // version as text: "2", "c2", ...
  // Indirect entries from the JSON. After reading, only those are left that could not be followed, with the
  // content of their slot: 0, a variable that is null or cannot be read, or a structure whose memory is
  // missing.
  std::map<std::string, GlobalDescriptor, std::less<>> sub_descriptors;
  // Sub-descriptors that are there but wrong, and were left out: which, and why. Names may be cut.
  std::vector<std::string> problems;

  // Sub-descriptors, of all descriptors that refer to each other, that are looked at; real ones have one.
  static constexpr std::size_t max_sub_descriptors = 256;
  static constexpr std::size_t max_problem_bytes = 1000; // of one sentence, in which names stand
};

// How much text and how many pointers may still be read: the descriptors of all modules of a process share
// it, with their sub-descriptors.
struct DescriptorRoom {
  // A real descriptor has 10 to 64 KiB. Parsing takes 20 times as much memory, and a second for 5 MB.
  static constexpr std::uint64_t max_bytes = 8u << 20;
  std::uint64_t left = max_bytes;
};

// Parses the compact JSON form. Indirect globals keep their table index in `number` and have `indirect` set;
// the caller resolves them. Throws Error{corrupt} for anything that the format does not allow. No reads.
ContractDescriptor parse_contract_json(std::string_view json);

// A descriptor as a runtime publishes it: its text, and the table of pointers that the text refers to.
struct RawDescriptor {
  Platform platform; // pointer size and byte order
  std::string json;
  std::vector<Address> slots;
};

// The structure at `address`, without its sub-descriptors. Throws as read_contract_descriptor does, but for
// what is wrong in the text. Cost: 3 reads.
RawDescriptor read_raw_descriptor(MemoryReader& memory, Address address);
// The descriptor that the text and the pointers describe. The rest as for read_contract_descriptor.
ContractDescriptor resolve_descriptor(MemoryReader& memory, RawDescriptor raw);

// Reads, checks and parses the structure at `address`, follows sub-descriptors, and resolves indirect
// globals. Throws Error: memory_missing; corrupt (magic, flags, limits, JSON, an index outside the table, no
// room); unsupported_contract (a baseline other than "empty"). A sub-descriptor that is missing or wrong does
// not spoil the rest: see `sub_descriptors` and `problems`.
// Cost: 1 read for the structure, 1 for the JSON, 1 for the pointer table; 1 and the same again per
// sub-descriptor.
ContractDescriptor read_contract_descriptor(MemoryReader& memory, Address address, DescriptorRoom& room);
ContractDescriptor read_contract_descriptor(MemoryReader& memory, Address address); // with room of its own

} // namespace clr
