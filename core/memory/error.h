// Faults: what is thrown when an answer cannot be had because memory is missing or data is wrong.
// Normal negative answers ("no method here, because ...") are values, never exceptions.
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace clr {

enum class ErrorKind : std::uint8_t {
  memory_missing, // the target has no such memory, or the core lacks it; address() is the first missing byte
  register_unknown,     // a frame's register was saved nowhere where it could be read
  corrupt,              // data read from the target or a file contradicts itself or exceeds a named limit
  unsupported_contract, // the target's contract, field or format is not one that we implement
  invalid_argument,     // the caller asked for something that cannot be
  io,                   // the host could not open or map a file
};

// The JSON word of a kind ("memory_missing", "corrupt", ...). Scripts know three kinds of fault: for them a
// register that is not known is memory that is missing.
std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Error(ErrorKind kind, Address at, const std::string& what)
      : std::runtime_error(what), kind_(kind), at_(at) {}

  ErrorKind kind() const { return kind_; }
  // Where in the target, when the fault has a place.
  std::optional<Address> address() const { return at_; }

private:
  ErrorKind kind_;
  std::optional<Address> at_;
};

// "memory at 0x... is not available" as an Error of kind memory_missing.
[[noreturn]] void throw_missing(Address at);
// Error of kind corrupt whose text ends with "at 0x...".
[[noreturn]] void throw_corrupt(Address at, std::string_view what);

} // namespace clr
