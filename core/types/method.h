// The description of a method as values; names are made from it by formatters.
#pragma once

#include "core/memory/platform.h"
#include "core/types/name_format.h"
#include "core/types/shared_text.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace clr {

struct UserMethod;

enum class MethodKind : std::uint8_t {
  il,
  fcall,
  pinvoke,
  eeimpl /* delegate Invoke and friends */,
  array,
  instantiated,
  com_interop,
  dynamic /* LCG */,
  il_stub,
  async_thunk,
  unknown,
};
std::string_view to_string(MethodKind kind); // words for JSON; eeimpl is "delegate"

enum class NameSource : std::uint8_t { memory, assembly, symbols, token };
std::string_view to_string(NameSource source);

enum class Tier : std::uint8_t {
  unknown,
  tier0,
  tier1,
  osr,
  optimized,
  minopts,
  instrumented,
  instrumented_optimized,
  r2r,
};
std::optional<std::string_view> to_string(Tier tier); // nothing for unknown: JSON null

// How much of a method is read. Without its signature, and without the arguments of a generic method, nothing
// is known but its own name, the type that declares it, its token and its module: what a search by name
// needs.
enum class MethodParts : std::uint8_t { all, without_signature };

// All that is known of a method but the text of its names.
struct MethodFacts {
  // Everything that the name can say; null when the name is only a token ("app.dll!0x06000123").
  std::shared_ptr<const QualifiedMethodName> qualified;
  bool signature_known = false;
  SharedText module;       // "app.dll"
  SharedText module_path;  // "/srv/app.dll"; empty when the runtime has none (single file)
  std::uint32_t token = 0; // 0x06......; 0 when the method has no metadata
  Address method_desc = 0; // 0: known only from a ReadyToRun image's tables
  Address method_table = 0;
  Address runtime_module = 0; // Module; 0 unknown
  NameSource name_from = NameSource::token;
  std::string degraded; // why the name is incomplete or not certain; empty when it is whole
  MethodKind kind = MethodKind::unknown;
  // The user's body of a method that the runtime itself suspends: it has no state machine.
  bool runtime_async = false;
  // With runtime_async: the method is not async. It returns a task, and this is its body for callers that
  // await that task.
  bool converted_to_async = false;
  // The method itself asks for no optimisation (MethodImplOptions.NoOptimization); nothing when its metadata
  // could not be read.
  std::optional<bool> no_optimization;
  // The user's method from which a compiler made this one. Null when the user wrote this method as it is, and
  // in lists, which do not look it up (MethodNames::add_user_method).
  std::shared_ptr<const UserMethod> user;
};

// A method with the two names that every list shows; the other conventions are made on request, from the same
// value.
struct Method : MethodFacts {
  std::string name;      // "Ns.Outer`1+Inner.Run": no generic arguments, no parameters
  std::string full_name; // "Ns.Outer<int>.Inner.Run<string>(int, string[])"

  // The name to show to people: the user's method with its mark if there is one, else full_name, else name.
  std::string shown_name() const;
  // The name as SOS, dotnet-dump and ClrMD print it; the token form when the method has no name.
  std::string sos_name() const;
  // The name as it is made from a method event: ".ctor" becomes the type with its parameters; "(???)" for an
  // unknown signature.
  std::string event_name() const;
  // The name as the runtime's perf map writes it, without the tier.
  std::string perf_map_name() const;
};

// A method whose names are not made yet. Walks over tens of thousands of methods use it, since names are half
// of their work and few of them are looked at; it has no text that could be taken for a name.
struct UnspelledMethod : MethodFacts {
  UnspelledMethod() = default;
  explicit UnspelledMethod(MethodFacts facts) : MethodFacts(std::move(facts)) {}

  // Makes the names: of `qualified`, without it of the token ("app.dll!0x06000123") or the MethodDesc. Empty
  // names when not even the module is known. For any thread. No reads.
  Method spell() const&;
  Method spell() &&;
};

} // namespace clr
