// Precodes: small stubs that are a method's entry point until it has code, and often after that.
// Source: dotnet/runtime docs/design/datacontracts/PrecodeStubs.md; src/coreclr/vm/precode.{h,cpp}.
#pragma once

#include "core/execution/code_pointer.h"
#include "core/target/target.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace clr {

enum class PrecodeKind : std::uint8_t {
  invalid,
  stub,
  pinvoke_import,
  this_ret_buf,
  um_entry,
  interpreter,
  dynamic_helper,
  fixup
};
std::string_view to_string(PrecodeKind kind);

class Precodes {
public:
  // No reads.
  explicit Precodes(const Target& target);
  ~Precodes();

  struct Precode {
    Address entry = 0;
    PrecodeKind kind = PrecodeKind::invalid;
    std::optional<Address>
        method_desc; // nothing for kinds without a method, and for slots that are not in use
  };
  // The precode whose entry point is `entry`; kind `invalid` when there is none. First call: 4 reads; then 2
  // to 4. Throws Error{memory_missing}; Error{unsupported_contract} when the contract PrecodeStubs cannot be
  // read, or a layout is missing.
  Precode at_entry(Address entry) const;
  // The precode that contains `address`.
  Precode containing(Address address) const;
  // The code of a precode, or the words that it reads, as far as they belong to a method: calls go to the one
  // or through the other. [begin, end)
  struct Part {
    Address begin = 0, end = 0;
    Address method_desc = 0;
    bool code = false; // else its words
    PrecodeKind kind = PrecodeKind::invalid;
  };
  // The part that holds `address`; nothing when there is none, or when the runtime does not tell how long
  // precodes are (before .NET 10). Cost: twice that of containing().
  std::optional<Part> part_at(Address address) const;

private:
  struct Machine;
  const Machine& machine() const;
  Precode stub_at(Address entry) const;

  const Target* target_;
  mutable std::unique_ptr<Machine> machine_;
};

} // namespace clr
