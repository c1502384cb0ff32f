// Finds the methods that a name or a source line means, compiled or not, by the metadata and the symbols of
// the modules that are loaded.
#pragma once

#include "core/metadata/portable_pdb.h"
#include "core/runtime/runtime.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct BreakTarget {
  std::string module; // "app.dll"
  Address module_address = 0;
  std::uint32_t token = 0; // MethodDef
  std::string name;        // "Ns.Type<T>.Run(int)"
  std::string user_name;   // of a state machine's MoveNext: the method that the user wrote; else empty
};

struct BreakTargets {
  std::vector<BreakTarget> methods; // at most max_methods
  std::uint32_t line = 0;           // of a search for lines: where code is, at or behind the line asked for
  std::size_t modules = 0;          // that were asked
  std::vector<std::string> silent;  // modules whose metadata or symbols are missing or cannot be read
  bool file_known = false;          // some symbols name the file

  static constexpr std::size_t max_methods = 10'000;
};

// Names of methods, types and files are those of the metadata, or the same as they are shown (printable).

// Methods called `name`: "Run", "Type.Run", "Ns.Type.Run", "Ns.Outer+Inner.Run", type arguments and
// parameters with or without (they are not compared). `stop` is asked now and then; true gives up. Never
// throws. Cost: a name of each method of each module, from metadata.
BreakTargets methods_called(Runtime& runtime, std::string_view name, const std::function<bool()>& stop);

struct TypesCalled {
  bool any = false;                // a module has such a type, loaded or not
  std::size_t modules = 0;         // that were asked
  std::vector<std::string> silent; // modules whose metadata is missing or cannot be read
};
// Types called `name`: "Failed", "Ns.Failed", "Ns.Outer+Failed", type arguments with or without (they are not
// compared). `stop` and errors as above. Cost: a name of each type of each module that is asked before one
// has it, from metadata.
TypesCalled types_called(Runtime& runtime, std::string_view name, const std::function<bool()>& stop);

// Methods of one module by a line of its symbols.
struct MethodsAtLine {
  std::uint32_t line = 0; // where they have code; 0: there are none
  std::vector<std::uint32_t> tokens;
};
// Methods with code at `line` of one of `documents` (rows of `pdb`), else at the next line that has some.
// `stop` is asked after some thousand rows or points; true gives up. Throws Error{corrupt}. Cost: all
// sequence points of the PDB, none without documents.
MethodsAtLine nearest_methods(const PortablePdb& pdb, const std::set<std::uint32_t>& documents,
                              std::uint32_t line, const std::function<bool()>& stop);

// Methods with code at `line` of `file` (a file name, or the end of a path), else at the next line that has
// some. Never throws. Cost: the symbols of each module are opened; of those that name the file all sequence
// points are read.
BreakTargets methods_at_line(Runtime& runtime, std::string_view file, std::uint32_t line,
                             const std::function<bool()>& stop);

} // namespace clr
