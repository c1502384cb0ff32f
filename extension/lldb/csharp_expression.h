// What C# writes otherwise than LLDB, whose expressions are C++: null, strings that are compared, `this.x`,
// members of enums behind a dot, lengths.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

struct CsharpScope {
  // The name of the type that LLDB gives an expression, of a reference that of the object; empty: it has no
  // meaning there.
  std::function<std::string(const std::string& expression)> type_of;
  // Where names of types are looked for: of "Shop.Orders.Find" {"Shop", "Orders"}.
  std::vector<std::string> names;
};

// The expression of LLDB's that means what `text` means in C#; nothing: there is nothing in it that LLDB
// takes otherwise, or it is not understood. Understood are
//   X == null, X is null, X == "text", and the same with != and `is not`, the constant on either side;
//   this.X; Mood.Calm, by the names in scope; Length, Count, HasValue and Value of strings, arrays, List,
//   Dictionary, HashSet, Queue, Stack and Nullable.
// Cost: a type_of() for each part of each path that LLDB has no meaning for.
std::optional<std::string> csharp_expression(std::string_view text, const CsharpScope& scope);

// `text` can be evaluated twice: nothing in it assigns, or calls a function.
bool only_reads(std::string_view text);

// C# is all that it can be, whatever its variables are: there is a null or a text in it.
bool is_surely_csharp(std::string_view text);

// Of "Shop.Orders<int>.Find(int)", as LLDB names a function.
std::vector<std::string> scope_of_function(std::string_view function);

} // namespace clr::lldb_plugin
