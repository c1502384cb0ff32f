// MethodDesc -> Method. Source: dotnet/runtime
// docs/design/datacontracts/{RuntimeTypeSystem,Loader,EcmaMetadata}.md.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/target/target.h"
#include "core/types/method.h"
#include "core/types/method_desc.h"
#include "core/types/module_metadata.h"
#include "core/types/r2r_imports.h"

#include <functional>
#include <memory>

namespace clr {

class NamedModules;
class TypeNames;

struct ModuleDescription {
  Address module = 0; // Module*
  std::string name;   // "app.dll"
  std::string path;
  Address base = 0;
  bool r2r = false;
  bool composite = false;
  std::optional<std::uint32_t> method_count;    // rows of MethodDef; nothing when metadata is not available
  std::string mvid;                             // "xxxxxxxx-xxxx-..."; empty when unknown
  NameSource metadata_from = NameSource::token; // token: no metadata
  std::string metadata_note; // why there is none, or why the file on disk is not certainly the same
};

class MethodNames {
public:
  // Both must outlive this. `files` may be null. Reads nothing. While it lives, `code` takes the methods of
  // ReadyToRun images that never ran from here.
  MethodNames(const Target& target, ExecutionManager& code, AssemblyFiles* files);
  ~MethodNames();

  // Never throws for a bad name: the result degrades to "Module.dll!0x06000123" and says why. Throws Error
  // only when `method_desc` itself is unreadable or is no MethodDesc (corrupt). Cached per MethodDesc,
  // MethodTable and (module, rid).
  // Cost cold: about 25 reads of at most 20 pages for the first method of a module; warm none.
  const Method& describe(Address method_desc);
  // The same for walks over all methods: nothing is kept of a method that is not known already.
  UnspelledMethod describe_once(Address method_desc);
  // Sets `user` when a compiler made the method of a user's. A method whose metadata is missing keeps the
  // compiler's name alone. Cached per method and instantiation; no reads for a name that no compiler gives.
  void add_user_method(Method& method);
  void add_user_method(UnspelledMethod& method);
  // The method at `method_desc` as the runtime keeps it, checked. Throws as describe() does.
  const MethodDesc& method_desc(Address method_desc);

  // Tier of the body that starts at `start`: its version node's, else by flags, else unknown.
  // Tier::unknown also where the runtime does not store what decided it. Throws Error for memory that is
  // missing and chains of versions that do not end. Cost warm: 2 reads and one per version of the method.
  Tier tier(Address method_desc, Address start, CodeKind kind);

  // "System.InvalidOperationException" of a MethodTable. Throws Error when it is no MethodTable or nothing
  // names it. Cached.
  std::string type_name(Address method_table);

  // Every module of the app domain (and those that range sections name). Holes are skipped.
  std::vector<ModuleDescription> modules();

  // Every method of an R2R image that has code, executed or not: runtime function index -> Method. The value
  // is the visitor's to keep.
  struct R2RMethod {
    std::uint32_t function_index = 0;
    UnspelledMethod method;
  };
  void for_each_r2r_method(const RangeSection& section, const std::function<bool(R2RMethod&)>& visit);
  // The method that owns runtime function `index` of an image (funclets belong to the preceding entry);
  // nothing if the image's tables do not name it. First call per image indexes it.
  const Method* r2r_method(const RangeSection& section, std::uint32_t index);

  // What the import cell at `cell` of a ReadyToRun image stands for; nothing when it is no such cell. Throws
  // Error when its image cannot be read. Cost: 2 reads and names; once per image its import sections.
  std::optional<R2RImport> import_at(Address cell);

  // What the names rest on, for readers of types and objects: the same caches. Valid as long as this.
  TypeNames& types();
  ExecutionManager& code();
  NamedModules& named_modules();
  // Modules of the app domain and those that range sections name. Kept. Never throws.
  const std::vector<Address>& module_addresses();
  // The arguments of a generic method as TypeHandles; empty for the definition and for methods that are not
  // generic. Throws Error{memory_missing, corrupt}.
  std::vector<Address> method_arguments(Address method_desc);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
