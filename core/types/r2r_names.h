// Names of the methods of ReadyToRun images, executed or not, from the tables of the images themselves.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/types/method.h"
#include "core/types/r2r_imports.h"
#include "core/types/r2r_methods.h"
#include "core/types/type_names.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace clr {

class R2RNames final : private AssemblyMetadata {
public:
  // Finds modules by simple name, for entries that refer to other assemblies; called at most once per name.
  using ModulesBySimpleName = std::function<NamedModule*(const std::string&)>;

  // All must outlive this. No reads.
  R2RNames(const Target& target, ExecutionManager& code, NamedModules& modules, ModulesBySimpleName by_name);
  ~R2RNames() override;

  // See MethodNames.
  void for_each(const RangeSection& section, MethodParts parts,
                const std::function<bool(std::uint32_t, UnspelledMethod)>& visit);
  const Method* method(const RangeSection& section, std::uint32_t function_index);
  // The target of the import cell at `address`; nothing when the image has no such cell. Throws Error when
  // its signature cannot be read.
  std::optional<R2RImport> import_at(const RangeSection& section, Address address);
  // The runtime functions of the image that begin a method, in ascending order; null when the image's tables
  // cannot be read.
  const std::vector<std::uint32_t>* entry_points(const RangeSection& section);

private:
  struct Image;
  Image& image(const RangeSection& section);
  R2RMethods& methods(Image& image);
  UnspelledMethod describe(Image& image, const R2REntry& entry, MethodParts parts = MethodParts::all);
  MetadataNames* by_simple_name(const std::string& simple_name) override;

  const Target* target_;
  ExecutionManager* code_;
  NamedModules* modules_;
  ModulesBySimpleName find_module_;
  std::unordered_map<Address, std::unique_ptr<Image>> images_; // by address of the image
  std::unordered_map<std::string, NamedModule*> by_name_;
};

} // namespace clr
