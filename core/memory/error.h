// Faults: they are thrown when an answer is impossible because memory is missing or data is wrong. Normal
// negative answers ("no method here, because ...") are values, never exceptions.
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace clr {

enum class ErrorKind : std::uint8_t {
  memory_missing, // the target has no such memory, or the core lacks it; address() is the first missing byte
  corrupt,        // data read from the target or a file contradicts itself or exceeds a named limit
  unsupported_contract, // the target's contract, field or format is not one that we implement
  invalid_argument,     // the caller asked for something impossible
  io,                   // the host could not open or map a file
  register_unknown,     // a frame needs a register whose value neither the target nor its unwind data tells
  no_process,           // there is no process or core to ask, or it has ended
  process_running,      // the process has to stop before it can be read
  busy,                 // another command is at work on the same process
  interrupted,          // the user stopped the work before it was done
  internal,             // a part of this program was used against its own rules: a defect, to be reported
};

// The JSON word of a kind ("memory_missing", "corrupt", ...).
std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Error(ErrorKind kind, Address at, const std::string& what)
      : std::runtime_error(what), kind_(kind), at_(at) {}

  ErrorKind kind() const { return kind_; }
  // The address in the target, when the fault has one.
  std::optional<Address> address() const { return at_; }

private:
  ErrorKind kind_;
  std::optional<Address> at_;
};

// Throws "memory at 0x... is not available" as an Error of kind memory_missing.
[[noreturn]] void throw_missing(Address at);
// Throws an Error of kind corrupt whose text ends with "at 0x...".
[[noreturn]] void throw_corrupt(Address at, std::string_view what);

} // namespace clr
