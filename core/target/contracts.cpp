#include "core/target/contracts.h"

#include "core/target/contract_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace clr {
namespace {

// One version that is known: the text, in descriptors of that format, and the form that it means.
struct KnownVersion {
  std::string_view contract;
  unsigned format;
  std::string_view text;
  unsigned form;
};

constexpr unsigned by_number = descriptor_format_integers, by_name = descriptor_format_names;

// A contract that is not here is not read. The count began anew with the letter: "c1" is the last form of
// most contracts, and "1" is the first.
constexpr std::array known_versions{
    KnownVersion{"CodeNotifications", by_name, "c1", contract_form::first},
    KnownVersion{"CodeVersions", by_number, "1", contract_form::first},
    KnownVersion{"CodeVersions", by_name, "c1", contract_form::first},
    KnownVersion{"DebugInfo", by_number, "1", contract_form::first},
    KnownVersion{"DebugInfo", by_name, "c1", contract_form::net11},
    KnownVersion{"EcmaMetadata", by_number, "1", contract_form::first},
    KnownVersion{"EcmaMetadata", by_name, "c1", contract_form::first},
    KnownVersion{"Exception", by_number, "1", contract_form::first},
    KnownVersion{"Exception", by_name, "c1", contract_form::net11},
    KnownVersion{"ExecutionManager", by_number, "1", contract_form::linear_nibble_map},
    KnownVersion{"ExecutionManager", by_number, "2", contract_form::constant_time_nibble_map},
    KnownVersion{"ExecutionManager", by_name, "c1", contract_form::constant_time_nibble_map},
    KnownVersion{"GC", by_name, "c1", contract_form::first},
    KnownVersion{"GCInfo", by_number, "1", contract_form::first},
    KnownVersion{"GCInfo", by_name, "c1", contract_form::first},
    KnownVersion{"Loader", by_number, "1", contract_form::first},
    KnownVersion{"Loader", by_name, "c1", contract_form::first},
    KnownVersion{"Object", by_number, "1", contract_form::first},
    KnownVersion{"Object", by_name, "c1", contract_form::first},
    KnownVersion{"PlatformMetadata", by_number, "1", contract_form::first},
    KnownVersion{"PlatformMetadata", by_name, "c1", contract_form::first},
    KnownVersion{"PrecodeStubs", by_number, "1", contract_form::precodes_by_type},
    KnownVersion{"PrecodeStubs", by_number, "2", contract_form::precodes_by_secret},
    KnownVersion{"PrecodeStubs", by_number, "3", contract_form::precodes_by_bytes},
    KnownVersion{"PrecodeStubs", by_name, "c1", contract_form::precodes_by_bytes},
    KnownVersion{"RuntimeInfo", by_number, "1", contract_form::first},
    KnownVersion{"RuntimeInfo", by_name, "c1", contract_form::first},
    KnownVersion{"RuntimeTypeSystem", by_number, "1", contract_form::first},
    KnownVersion{"RuntimeTypeSystem", by_name, "c1", contract_form::net11},
    KnownVersion{"Signature", by_name, "c1", contract_form::first},
    KnownVersion{"StackWalk", by_number, "1", contract_form::first},
    KnownVersion{"StackWalk", by_name, "c1", contract_form::net11},
    KnownVersion{"SyncBlock", by_name, "c1", contract_form::first},
    KnownVersion{"Thread", by_number, "1", contract_form::first},
    KnownVersion{"Thread", by_name, "c1", contract_form::net11},
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool has_letter(std::string_view version) {
  return !version.empty() && std::isdigit(static_cast<unsigned char>(version.front())) == 0;
}

} // namespace

ContractUse contract_use(const ContractDescriptor& descriptor, std::string_view contract) {
  const auto listed = descriptor.contracts.find(contract);
  if (listed == descriptor.contracts.end()) {
    if (descriptor.version < descriptor_format_names) return {};
    return {.form = {},
            .fault = fmt::format("the runtime's descriptor does not list the contract {}", contract)};
  }
  const auto known = std::ranges::find_if(known_versions, [&](const KnownVersion& row) {
    return row.contract == contract && row.format == descriptor.version && row.text == listed->second;
  });
  if (known != known_versions.end()) return {.form = known->form, .fault = {}};
  return {.form = {},
          .fault = fmt::format("contract {} has version \"{}\", which this version of lldb-clr does not know",
                               contract, listed->second)};
}

bool is_contract_read(std::string_view contract) {
  return std::ranges::find(known_versions, contract, &KnownVersion::contract) != known_versions.end();
}

void withhold_unreadable(ContractDescriptor& descriptor) {
  const auto unreadable = [&](std::string_view contract) {
    return !contract.empty() && !contract_use(descriptor, contract).fault.empty();
  };
  std::erase_if(descriptor.types, [&](const auto& type) { return unreadable(contract_of_type(type.first)); });
  std::erase_if(descriptor.globals,
                [&](const auto& global) { return unreadable(contract_of_global(global.first)); });
}

void check_descriptor_format(const ContractDescriptor& descriptor) {
  const bool lettered = std::ranges::any_of(descriptor.contracts,
                                            [](const auto& contract) { return has_letter(contract.second); });
  if (descriptor.version == descriptor_format_preview ||
      (descriptor.version == descriptor_format_integers && lettered))
    throw Error(ErrorKind::unsupported_contract,
                "its data descriptor is that of a preview of .NET 11, whose contracts were not frozen");
  if (descriptor.version > descriptor_format_names)
    throw Error(
        ErrorKind::unsupported_contract,
        fmt::format("its data descriptor has version {}, which this version of lldb-clr does not know",
                    descriptor.version));
}

bool describes_native_aot(const ContractDescriptor& descriptor) {
  if (const auto flavor = descriptor.globals.find("RuntimeFlavor");
      flavor != descriptor.globals.end() && flavor->second.text && lower(*flavor->second.text) == "nativeaot")
    return true;
  return std::ranges::any_of(descriptor.contracts,
                             [](const auto& contract) { return contract.second.starts_with('n'); });
}

std::string contracts_beginning_with(const ContractDescriptor& descriptor, char letter) {
  std::map<std::string, std::string> by_version;
  for (const auto& [name, version] : descriptor.contracts) {
    if (!version.starts_with(letter)) continue;
    std::string& list = by_version[version];
    list += (list.empty() ? "" : ", ") + name;
  }
  std::string text;
  for (const auto& [version, list] : by_version)
    text += fmt::format("{}contracts {}: {}", text.empty() ? "" : "; ", version, list);
  return text;
}

} // namespace clr
