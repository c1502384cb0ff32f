// The runtime's own notifications for debuggers: it looks for each method in a table before it runs code of
// it that is new, and raises an exception in itself for those that are there; also for each module that it
// has loaded. No symbol of the runtime is needed for it, but a place where C++ exceptions are thrown.
// Source: dotnet/runtime docs/design/datacontracts, contracts Notifications and CodeNotifications;
// src/coreclr/vm/util.cpp (JITNotifications, DACNotify).
#pragma once

#include "core/runtime/runtime.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace clr {

// Where the runtime of a process keeps them.
struct CodeNotifications {
  Address table = 0;     // its first row holds the number of rows in use behind it
  Address flags = 0;     // 32 bits: the kinds that are wanted beside the methods of the table
  Address arguments = 0; // words: the notification that is being raised; the first is 0 when there is none
};

// Methods of which the runtime can tell at once. Its table has 1,000 rows, which it goes through for each
// method that it prepares.
constexpr std::size_t max_notified_methods = 500;

// Nothing when the runtime has no such table, or has not made it yet. Never throws. Cost: 3 reads; where the
// descriptor does not publish the table, the runtime's dynamic symbols too.
std::optional<CodeNotifications> find_code_notifications(Runtime& runtime);

struct MethodKey {
  Address module = 0;
  std::uint32_t token = 0; // MethodDef
  friend auto operator<=>(const MethodKey&, const MethodKey&) = default;
};

struct TargetWrite {
  Address address = 0;
  std::vector<std::byte> bytes;
};

// The writes, in their order, after which the runtime tells of `methods` and of modules that it loads;
// without methods it tells nothing any more. Throws Error{invalid_argument} for more than
// max_notified_methods; Error{unsupported_contract} when the descriptor tells of rows that cannot be. No
// reads.
std::vector<TargetWrite> notify_of(const Target& target, const CodeNotifications& places,
                                   std::span<const MethodKey> methods);

struct ModuleLoaded {
  Address module = 0;
};
// Code of a method is ready, compiled or precompiled, and did not run yet in the thread that tells of it.
struct CodeReady {
  Address method_desc = 0, code = 0;
};
// monostate: the exception that is being thrown is none of these.
using CodeNotification = std::variant<std::monostate, ModuleLoaded, CodeReady>;

// The notification that the process is raising. 1 to 3 reads. Throws Error{memory_missing}.
CodeNotification read_notification(const Target& target, const CodeNotifications& places);

} // namespace clr
