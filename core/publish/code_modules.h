// Puts described code into modules: one or more for each assembly, with sections that overlap nothing.
#pragma once

#include "core/describe/described_code.h"
#include "core/describe/source_files.h"
#include "core/execution/code_block.h"
#include "core/types/method.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace clr {

// The owner of code: an assembly, or a kind of code that belongs to none.
struct CodeOwner {
  std::string file_name; // "app.dll"
  Address module = 0;    // the runtime's Module; several assemblies may have one name
  bool image = false;    // ReadyToRun code, which stays where it is for good
  bool unknown = false;  // nothing describes it
  bool lists = false;    // range lists of stubs, whose modules are made anew when stubs get names

  friend auto operator<=>(const CodeOwner&, const CodeOwner&) = default;
};

// The body that the variables of some code are read of.
struct VariableSource {
  CodeBlock block;
  Method method;
};

struct OwnedCode {
  std::shared_ptr<const CodeOwner> owner; // never null
  DescribedCode code;
  Address range = 0;                        // of the range section: code of two is never in one section
  std::shared_ptr<const SourceFiles> files; // that the lines refer to; one for all code of an owner
  std::shared_ptr<const VariableSource> source = {}; // null: the code gets no variables
};

// A module with the owner of its code.
struct OwnedModule {
  CodeOwner owner;
  DescribedModule module;
  // Code of the module, by its index, that gets variables; ascending.
  std::vector<std::pair<std::size_t, std::shared_ptr<const VariableSource>>> sources = {};
};

// Groups `code`, which is moved from; each module gets the source files that its lines refer to. Code that
// reaches into other code ends there; `dropped` counts it, and code that is left out because it has no size
// or its place is taken. Neighbours share a section when there are no more than max_section_gap bytes between
// them and `between` (may be empty) does not tell that other code lies there.
std::vector<OwnedModule> group_code(std::vector<OwnedCode*> code, const Platform& platform,
                                    const std::function<bool(Address, Address)>& between,
                                    std::size_t& dropped);

std::vector<OwnedCode*> pointers_to(std::vector<OwnedCode>& code);

// LLDB's cost grows with the square of the sections of a module.
constexpr std::size_t max_sections_of_module = 2'000;
constexpr std::size_t max_codes_of_module = 50'000;
// Bytes: padding, a heap's own header, constants before the code. Where a heap gives freed room to later code
// that may come to lie in such a gap; the module is made anew then.
constexpr std::uint64_t max_section_gap = 256;

} // namespace clr
