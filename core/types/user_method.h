// The method that a user wrote, for methods that a compiler made of parts of it: the MoveNext of async
// methods and iterators, lambdas, local functions. Sources: StackTraceHelper.TryResolveStateMachineMethod in
// dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Diagnostics/StackTrace.cs; the names that
// compilers give: dotnet/roslyn src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNames.cs.
#pragma once

#include "core/types/metadata_names.h"

#include <cstdint>
#include <optional>
#include <string>

namespace clr {

struct UserMethod {
  // "Ns.Type.RunAsync(int)"; of a local function with the method that it belongs to:
  // "Ns.Type.Main(string[]).Work(int)". Without parameters where overloads share the name and nothing tells
  // them apart.
  std::string full_name;
  std::string mark; // "async", "iterator", "async iterator", "lambda", "async lambda", "local function"...
  std::uint32_t token = 0; // MethodDef of the method that the user wrote; 0 where it is not certain which

  // "Ns.Type.RunAsync(int) [async]".
  std::string text() const { return full_name + " [" + mark + "]"; }
};

// Could `method`, by its name alone, be a compiler's? No reads: most methods are not, and are not looked up.
bool may_be_compiler_made(const QualifiedMethodName& method);

// The user's method of the MethodDef `method_rid`, with the type arguments of `made` (the name of the same
// method); nothing when the method is its own. Throws Error when the metadata cannot be read. Cost: the names
// and attributes of the methods in the user's type, some 10 reads for each.
std::optional<UserMethod> find_user_method(MetadataNames& names, std::uint32_t method_rid,
                                           const QualifiedMethodName& made);

// Methods of one type that are looked at; a larger type's methods are named without parameters.
constexpr std::uint32_t max_candidate_methods = 10'000;
// A lambda in a lambda's state machine and so on.
constexpr unsigned max_user_method_depth = 8;

} // namespace clr
