// The methods of a ReadyToRun image by the image's own tables: every method that has code, whether it ever
// ran or not, named from metadata alone. Source: dotnet/runtime
// docs/design/coreclr/botr/readytorun-format.md; src/coreclr/vm/readytoruninfo.cpp, nativeformatreader.h.
#pragma once

#include "core/metadata/metadata.h"
#include "core/types/metadata_names.h"
#include "core/types/r2r_format.h"
#include "core/types/r2r_signatures.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace clr {

// An assembly of a composite image. Its metadata lies in a separate file.
struct R2RComponent {
  std::string simple_name; // empty when not known
  R2RHeader header;
};

// One method with code in the image.
struct R2REntry {
  std::uint32_t function_index = 0; // first RUNTIME_FUNCTION of the method
  std::uint32_t component = 0; // index of the component in whose metadata `rid` is a row; 0 unless composite
  std::uint32_t rid = 0;       // of the MethodDef; 0 for an instance entry
  std::uint32_t instance_rva = 0; // of the instance entry's signature; 0 for MethodDef entries
};

class R2RMethods {
public:
  // `image` and `assemblies` must outlive this; `assemblies` may be null (types of other modules are unknown
  // then). `header_rva` is the ManagedNativeHeader of the COR header, or the RTR_HEADER export of a composite
  // image. `own`: names of the image's own metadata, null for a composite image. Cost: the header, and one
  // read per component. Throws Error.
  R2RMethods(R2RImageBytes& image, std::uint32_t header_rva, MetadataNames* own,
             AssemblyMetadata* assemblies);
  ~R2RMethods();

  const R2RHeader& header() const { return header_; }
  // No flag marks a composite image; it is the kind of image that lists components.
  bool composite() const { return header_.find(R2RSection::component_assemblies).has_value(); }
  // Assemblies of a composite image, in the order of their index; empty for other images.
  const std::vector<R2RComponent>& components() const { return components_; }

  // Resolves the signatures in the image's tables.
  R2RSignatures& signatures();
  // Names of the image's own metadata; null for a composite image.
  MetadataNames* own_names() const;

  // Every method with code, in the order of function_index, each once. Read on first use and kept; damaged
  // entries are skipped and counted, and so are those behind a limit. Cost: the two tables, and about one
  // read per entry where the memory does not lend its bytes.
  const std::vector<R2REntry>& entries();
  std::uint32_t damaged() const { return damaged_; }
  // The entry that owns runtime function `index`: the last one that begins at or before it (funclets follow
  // their method). Null when there is none. No reads after the first call of entries().
  const R2REntry* entry_of(std::uint32_t function_index);

  // The method's name, from metadata alone. Throws Error when that metadata is not available.
  QualifiedMethodName name(const R2REntry& entry);
  // The same, without what the signature tells, where that saves something.
  QualifiedMethodName name_without_signature(const R2REntry& entry);
  // The MethodDef token of an entry and the names of the module that the token belongs to; token 0 when the
  // method is named through a MemberRef that was not resolved.
  struct Owner {
    MetadataNames* names = nullptr;
    std::uint32_t method_token = 0;
  };
  Owner owner(const R2REntry& entry);

  static constexpr std::uint32_t max_components = 4096;
  static constexpr std::size_t max_entry_signature = 64 * 1024; // bytes
  // Rows of MethodDef of all assemblies of an image, and entries of its table of instances. The whole
  // framework has some 300,000.
  static constexpr std::uint32_t max_methods = 4u << 20;
  // Bytes that the signatures of all instances take, as a multiple of their table's size; they lie in it one
  // behind the other. Of a table that is read in pieces, the pieces count: of 256 bytes or
  // max_entry_signature.
  static constexpr std::uint64_t max_decoded_times = 4, max_copied_times = 256;

private:
  struct Impl;
  MetadataNames& names_of(const R2REntry& entry);
  void index_methods(const R2RHeader& of, std::uint32_t component, std::uint32_t functions);
  void index_instances(std::uint32_t functions);

  std::unique_ptr<Impl> impl_;
  R2RHeader header_;
  std::vector<R2RComponent> components_;
  std::vector<R2REntry> entries_;
  bool indexed_ = false;
  std::uint32_t damaged_ = 0, methods_ = 0;
};

} // namespace clr
