// Which contract describes a type or a global of the runtime. When a contract cannot be read, what it
// describes is not read by another one either.
// Source: dotnet/runtime docs/design/datacontracts, the sections "Data descriptors used".
#pragma once

#include <string_view>

namespace clr {

// Both: empty for what no single contract describes. No reads.
std::string_view contract_of_type(std::string_view type);
std::string_view contract_of_global(std::string_view global);

} // namespace clr
