// The versions of contracts that this library can read, and what of a descriptor each contract describes. A
// version is a name, not a rank: it is looked up together with the version of the descriptor's own format.
// Source: dotnet/runtime docs/design/datacontracts; src/coreclr/vm/datadescriptor/datadescriptor.inc.
#pragma once

#include "core/target/contract_descriptor.h"

#include <optional>
#include <string>
#include <string_view>

namespace clr {

// Versions of the descriptor's own format: .NET 9 and 10; previews of .NET 11; .NET 11.
constexpr unsigned descriptor_format_integers = 0, descriptor_format_preview = 1, descriptor_format_names = 2;

// Forms of the contracts whose meaning changed: the numbers are this library's own, by contract.
namespace contract_form {
constexpr unsigned linear_nibble_map = 1, constant_time_nibble_map = 2;                 // ExecutionManager
constexpr unsigned precodes_by_type = 1, precodes_by_secret = 2, precodes_by_bytes = 3; // PrecodeStubs
constexpr unsigned first = 1, net11 = 2; // RuntimeTypeSystem, StackWalk, Exception, DebugInfo, Thread
} // namespace contract_form

// How a descriptor stands to one contract.
struct ContractUse {
  std::optional<unsigned> form; // which of its forms; nothing: not listed, or not readable
  std::string fault;            // why it cannot be read, a sentence; empty: it can, or nothing is said of it
};

// `contract` as `descriptor` lists it. A contract that is not listed is a fault from .NET 11 on; before, few
// contracts were listed at all. No reads.
ContractUse contract_use(const ContractDescriptor& descriptor, std::string_view contract);

// Whether this library reads anything by the contract.
bool is_contract_read(std::string_view contract);

// Takes every type and global out of `descriptor` that a contract describes which cannot be read.
void withhold_unreadable(ContractDescriptor& descriptor);

// Throws Error{unsupported_contract} for a descriptor whose own format this library does not read: previews
// of .NET 11, and later formats.
void check_descriptor_format(const ContractDescriptor& descriptor);

// Whether the descriptor is that of a NativeAOT program: its flavor says so, or one of its contracts does.
bool describes_native_aot(const ContractDescriptor& descriptor);

// "contracts n1: RuntimeTypeSystem, Thread"; empty when it lists none that begin with `letter`.
std::string contracts_beginning_with(const ContractDescriptor& descriptor, char letter);

} // namespace clr
