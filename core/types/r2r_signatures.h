// The signatures of a ReadyToRun image: references from the image's tables to methods and types of this
// module and of others. Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md, "Fixups" and
// "Method Signatures"; src/coreclr/vm/zapsig.cpp.
#pragma once

#include "core/metadata/metadata.h"
#include "core/types/metadata_names.h"
#include "core/types/r2r_format.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// Finds metadata by the simple name of an assembly, for instance entries that refer to other modules.
class AssemblyMetadata {
public:
  virtual ~AssemblyMetadata() = default;
  // Names of the assembly's manifest module; null when they are not available.
  virtual MetadataNames* by_simple_name(const std::string& simple_name) = 0;
};

// A method that a signature refers to.
struct R2RMethodReference {
  MetadataNames* names = nullptr; // of the module that `token` belongs to
  std::uint32_t token = 0;        // MethodDef or MemberRef
  TypeNamePtr owner;              // null: the type in the token's row
  std::vector<TypeNamePtr> method_arguments;

  // Throws Error when its metadata cannot be read.
  QualifiedMethodName name() const;
};

class R2RSignatures final : public SignatureModules {
public:
  // All arguments must outlive this. `own`: names of the image's own metadata, null for a composite image.
  // `assemblies` may be null: types and methods of other modules are not named then. No reads.
  R2RSignatures(R2RImageBytes& image, const R2RHeader& header, MetadataNames* own,
                AssemblyMetadata* assemblies);

  // The method or type whose signature `reader` is at. Its tokens belong to the module `in`, unless the
  // signature says otherwise. Throws Error{corrupt, memory_missing}.
  R2RMethodReference method(SignatureReader& reader, MetadataNames* in);
  // `budget`: of the signature that the type is part of; null: its own.
  TypeNamePtr type(SignatureReader& reader, MetadataNames* in, SignatureBudget* budget = nullptr);
  // Moves `reader` behind a method's signature. Throws Error{corrupt}.
  static void skip_method(SignatureReader& reader);

  // Names of the module that a signature calls `index`; null when they are not available. Kept.
  MetadataNames* module(std::uint32_t index) override;
  // The same by simple name.
  MetadataNames* assembly(const std::string& simple_name);
  // Simple name of the assembly in a row of AssemblyRef of the manifest metadata; empty when there is no such
  // row.
  std::string manifest_assembly(std::uint32_t rid);

  static constexpr std::uint32_t max_method_arguments = 1'024; // generic ones of one method

private:
  const Metadata* manifest();
  std::string assembly_of_index(std::uint32_t index);

  R2RImageBytes& image_;
  const R2RHeader& header_;
  MetadataNames* own_;
  AssemblyMetadata* assemblies_;
  bool manifest_read_ = false;
  std::optional<Metadata> manifest_;
  std::unordered_map<std::uint32_t, MetadataNames*> modules_; // by index
};

} // namespace clr
