// Target: a runtime as its data descriptor describes it. Typed reads, and the types, fields, globals and
// contract versions that the descriptor publishes, or else the table of supplements.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/target/contract_descriptor.h"
#include "core/target/contracts.h"

#include <optional>
#include <string>
#include <string_view>

namespace clr {

class Target {
public:
  // `memory` must outlive the target. `platform` joins the descriptor's pointer size and byte order with the
  // CPU and OS that the caller knows from elsewhere; the descriptor's own Architecture wins when it has one.
  // Types and globals of contracts that cannot be read are left out of the descriptor: to ask for one throws
  // the sentence that names its contract.
  Target(MemoryReader& memory, ContractDescriptor descriptor, Platform platform);

  MemoryReader& memory() const { return *memory_; }
  const Platform& platform() const { return platform_; }
  const ContractDescriptor& descriptor() const { return descriptor_; }
  unsigned pointer_size() const { return platform_.pointer_size; }

  // --- typed reads: one read each; throw Error{memory_missing} with the first missing address
  std::uint8_t read_u8(Address a) const { return read<std::uint8_t>(a); }
  std::uint16_t read_u16(Address a) const { return read<std::uint16_t>(a); }
  std::uint32_t read_u32(Address a) const { return read<std::uint32_t>(a); }
  std::int32_t read_i32(Address a) const { return read<std::int32_t>(a); }
  std::uint64_t read_u64(Address a) const { return read<std::uint64_t>(a); }
  // A pointer or nuint of the target's width, zero-extended.
  Address read_pointer(Address a) const;
  // The same for a pointer between instructions; see MemoryReader::read_data_some.
  Address read_pointer_beside_code(Address a) const;
  void read_bytes(Address a, std::span<std::byte> out) const { memory_->read(platform_.wrap(a), out); }
  // UTF-8 / UTF-16 up to the terminating NUL. More than `limit` code units throw Error{corrupt}.
  std::string read_utf8(Address a, std::size_t limit = 4096) const;
  std::string read_utf16(Address a, std::size_t limit = 4096) const;
  // Exactly `units` UTF-16 code units, as UTF-8; a million at most, else Error{corrupt}.
  std::string read_utf16_units(Address a, std::size_t units) const;

  // --- types and fields: no reads
  // From the descriptor, else from the supplements, else nothing.
  std::optional<std::int64_t> find_offset(std::string_view type, std::string_view field) const;
  std::optional<std::uint64_t> find_size(std::string_view type) const;
  // As above, but a missing one throws Error{unsupported_contract} that names type and field.
  std::int64_t offset(std::string_view type, std::string_view field) const;
  std::uint64_t size_of(std::string_view type) const;
  // True when the offset comes from a supplement. An answer then rests on this library's knowledge instead of
  // the runtime's own statement.
  bool is_supplemented(std::string_view type, std::string_view field) const;
  // base + offset(type, field), wrapped. On hot paths, look up the offset once and keep it.
  Address field_address(Address base, std::string_view type, std::string_view field) const;

  // --- globals: no reads; the pointer table was read together with the descriptor
  // Numeric value; for a pointer global the content of its slot, which is the address of the runtime's
  // variable. A slot of 0 counts as absent.
  std::optional<std::uint64_t> find_global(std::string_view name) const;
  std::optional<std::string> find_global_string(std::string_view name) const;
  std::uint64_t global(std::string_view name) const; // throws Error{unsupported_contract}

  // --- contracts
  // Which form of the contract this runtime has: a number of contracts.h. Nothing when the contract is not
  // listed, which is usual up to .NET 10. Throws Error{unsupported_contract} that names contract and version
  // when it cannot be read.
  std::optional<unsigned> find_contract_form(std::string_view contract) const;
  // Throws the same for a contract of which nothing but the meaning of bytes is used.
  void require_contract(std::string_view contract) const { check_contract(contract); }

  // Whether the descriptor publishes the type. This tells generations of the runtime apart when no field
  // does.
  bool has_type(std::string_view type) const;

private:
  template<typename T>
  T read(Address a) const {
    std::byte raw[sizeof(T)];
    memory_->read(platform_.wrap(a), raw);
    return load<T>(raw, platform_.byte_order);
  }

  // Throws the sentence about a contract that cannot be read; `contract` may be empty.
  void check_contract(std::string_view contract) const;

  MemoryReader* memory_;
  ContractDescriptor descriptor_;
  Platform platform_;
};

} // namespace clr
