// Breakpoints on exceptions that managed code throws: which types they mean.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

class ThrownExceptions {
public:
  // Each exception comes to the start of one of these methods of the framework when it is thrown, and not
  // when it is thrown again (`throw;`): with the object as the first argument, or of a fault (a division by
  // zero) with its number. From .NET 9 on.
  static constexpr const char* thrower = "System.Runtime.EH.RhThrowEx";
  static constexpr const char* faulter = "System.Runtime.EH.RhThrowHwEx";
  static std::vector<std::string> methods() { return {thrower, faulter}; }

  // The names of the type with a MethodTable and of its bases, "System.Exception" among them. Empty: not
  // known.
  using Lineage = std::function<std::vector<std::string>(Address table)>;

  // Breakpoint `id` means the exceptions of `type` ("Ns.Type", or the end of it behind a dot) and of derived
  // types; empty: all. Without type arguments it means every instance of a generic type.
  void add(std::int32_t id, std::string type) { types_[id] = std::move(type); }
  // Null: it is none of these.
  const std::string* type_of(std::int32_t id) const;

  // Whether breakpoint `id` means an object with MethodTable `table`. What is not known it means. Cost: that
  // of `lineage` for a type that is new.
  bool means(std::int32_t id, Address table, const Lineage& lineage);
  // The same of a fault with this number.
  bool means_fault(std::int32_t id, std::uint32_t number) const;
  // MethodTables may be others' by now.
  void forget() { verdicts_.clear(); }

  // The exception that a fault becomes, and its bases; empty: not known.
  // Source: src/coreclr/nativeaot/Runtime.Base/src/System/Runtime/ExceptionHandling.cs, RhThrowHwEx.
  static std::span<const std::string_view> of_fault(std::uint32_t number);

  static constexpr std::size_t max_verdicts = 10'000;

private:
  static bool fits(std::string_view name, const std::string& wanted);

  std::map<std::int32_t, std::string> types_;
  std::map<std::pair<std::int32_t, Address>, bool> verdicts_;
};

} // namespace clr::lldb_plugin
