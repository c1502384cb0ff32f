// Finds the method that a user wrote when a compiler turned parts of it into other methods: the MoveNext of
// async methods and iterators, lambdas, local functions. Sources:
// StackTraceHelper.TryResolveStateMachineMethod in dotnet/runtime
// src/libraries/System.Private.CoreLib/src/System/Diagnostics/StackTrace.cs; the names that compilers give:
// dotnet/roslyn src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNames.cs.
#pragma once

#include "core/types/metadata_names.h"

#include <cstdint>
#include <optional>
#include <string>

namespace clr {

struct UserMethod {
  // "Ns.Type.RunAsync(int)". A local function comes with the method around it:
  // "Ns.Type.Main(string[]).Work(int)". Without parameters when overloads share the name and nothing tells
  // which one is meant.
  std::string full_name;
  std::string mark; // "async", "iterator", "async iterator", "lambda", "async lambda", "local function"...
  std::uint32_t token = 0; // MethodDef of the method that the user wrote; 0 when it is not certain which one

  // "Ns.Type.RunAsync(int) [async]".
  std::string text() const { return full_name + " [" + mark + "]"; }
};

// Could a compiler have made `method`, judged by its name alone? No reads. Most methods fail this test and
// are not looked up.
bool may_be_compiler_made(const QualifiedMethodName& method);

// The user's method from which a compiler made the MethodDef `method_rid`, with the type arguments of `made`
// (the name of the same MethodDef). Nothing when the user wrote the method as it is. Throws Error when the
// metadata cannot be read. Cost: the names and attributes of the methods in the user's type, some 10 reads
// for each; behind max_searched_methods the user's method has no parameters and no token.
std::optional<UserMethod> find_user_method(MetadataNames& names, std::uint32_t method_rid,
                                           const QualifiedMethodName& made);

// Methods of one type that are looked at; the methods of a larger type are named without parameters.
constexpr std::uint32_t max_candidate_methods = 10'000;
// Types of a module that are searched for the one whose method an F# state machine is of.
constexpr std::uint32_t max_candidate_types = 65'536;
// Methods and attributes that one search looks at, and all searches of a module: the types of a damaged
// module may share their methods. The whole module of a large program has some 200,000 methods.
constexpr std::size_t max_searched_methods = 1u << 18, max_all_searched_methods = 1u << 25;
// Limit of lambdas in the state machines of lambdas, and so on.
constexpr unsigned max_user_method_depth = 8;

} // namespace clr
