// What a method declares: its parameters with the types of the signature and the names of the metadata, its
// locals with the names and scopes of the symbols. Where their values are is found elsewhere.
#pragma once

#include "core/describe/omissions.h"
#include "core/metadata/portable_pdb.h"
#include "core/objects/type_finder.h"
#include "core/runtime/runtime.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace clr {

struct DeclaredSignature {
  Address module = 0; // Module that the tokens belong to
  std::vector<Address> class_arguments, method_arguments;
  TypeUsePtr this_type;                     // null when the method's type is unknown
  TypeFinder::Signature types;              // tuples with the names of their elements
  std::vector<std::string> parameter_names; // as many as parameters; empty for one without a name

  // Valid as long as this.
  TypeScope scope() const {
    return {.module = module, .class_arguments = class_arguments, .method_arguments = method_arguments};
  }
  bool generic() const { return !class_arguments.empty() || !method_arguments.empty(); }
  // How many variables come before the locals, `this` included.
  std::int32_t arguments() const {
    return static_cast<std::int32_t>(types.parameters.size()) + (types.has_this ? 1 : 0);
  }
};

// The signature of a method with a MethodDef token and a module, in a runtime that has objects(). A tuple of
// which the names cannot be read keeps numbers. Throws Error when the signature or the metadata cannot be
// read. Cost: that of TypeFinder::method, and a row of metadata for each parameter.
DeclaredSignature declared_signature(Runtime& runtime, const Method& method);

struct DeclaredLocal {
  std::string name; // never empty
  std::uint16_t slot = 0;
  IlRange scope;
  bool everywhere = false; // in all of the method
  std::uint32_t row = 0;   // of the PDB's LocalVariable
};

// The named locals that are not hidden from debuggers, and those that hold a closure; a local of an outer
// scope comes before those of the scopes in it. Not more than `most`, and of not more than
// PortablePdb::max_locals rows; that there are more is told in `omissions`. Throws Error when the symbols
// cannot be read. Cost: linear in the rows; what was gone through is added to `steps`, also before an Error.
std::vector<DeclaredLocal> declared_locals(const PortablePdb& pdb, const Method& method, std::size_t most,
                                           Omissions& omissions, std::size_t& steps);

} // namespace clr
