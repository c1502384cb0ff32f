// MethodDesc -> Method. Source: dotnet/runtime
// docs/design/datacontracts/{RuntimeTypeSystem,Loader,EcmaMetadata}.md.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/target/target.h"
#include "core/types/method.h"

#include <functional>
#include <memory>

namespace clr {

// Bytes of an assembly on disk, for modules whose metadata is not in target memory. Returns nothing when the
// file cannot be had; the reader checks the MVID itself when it can.
class AssemblyFiles {
public:
  virtual ~AssemblyFiles() = default;
  // `path` as the target names it (may be empty), `file_name` its last part.
  virtual std::optional<std::vector<std::byte>> open(const std::string& path,
                                                     const std::string& file_name) = 0;
};

struct ModuleDescription {
  Address module = 0; // Module*
  std::string name;   // "app.dll"
  std::string path;
  Address base = 0;
  bool r2r = false;
  bool composite = false;
  std::optional<std::uint32_t> method_count; // rows of MethodDef; nothing when metadata is not available
  std::string mvid;                          // "xxxxxxxx-xxxx-..."; empty when unknown
};

class MethodNames {
public:
  // Both must outlive this. `files` may be null. Reads nothing.
  MethodNames(const Target& target, ExecutionManager& code, AssemblyFiles* files);
  ~MethodNames();

  // Never throws for a bad name: the result degrades to "Module.dll!0x06000123" and says why. Throws Error
  // only when `method_desc` itself is unreadable or is no MethodDesc (corrupt). Cached per MethodDesc,
  // MethodTable and (module, rid).
  const Method& describe(Address method_desc);

  // Tier of the body that starts at `start`: its version node's, else by flags, else unknown.
  Tier tier(Address method_desc, Address start, CodeKind kind);

  // Every module of the app domain (and those that range sections name). Holes are skipped.
  std::vector<ModuleDescription> modules();

  // Every method of an R2R image that has code, executed or not: runtime function index -> Method.
  struct R2RMethod {
    std::uint32_t function_index = 0;
    Method method;
  };
  void for_each_r2r_method(const RangeSection& section, const std::function<bool(const R2RMethod&)>& visit);
  // The method that owns runtime function `index` of an image (funclets belong to the preceding entry);
  // nothing if the image's tables do not name it. First call per image indexes it.
  const Method* r2r_method(const RangeSection& section, std::uint32_t index);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
