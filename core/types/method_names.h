// Makes a Method from a MethodDesc. Source: dotnet/runtime
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
  // `target` and `code` must outlive this. `files` may be null. Reads nothing. While this object lives,
  // `code` asks it for those methods of ReadyToRun images that never ran.
  MethodNames(const Target& target, ExecutionManager& code, AssemblyFiles* files);
  ~MethodNames();

  // Never throws because of a bad name: the result degrades to "Module.dll!0x06000123" and says why. Throws
  // Error only when `method_desc` itself cannot be read or is no MethodDesc (corrupt). Types are kept, and
  // the facts of the methods that were asked for last (recent_table.h). The names are formatted again. Cost
  // cold: about 25 reads of at most 20 pages for the first method of a module, some 10 for a method of a
  // type that is known; warm: none.
  Method describe(Address method_desc);
  // The same of a method whose code other types share: named with the arguments of the exact type
  // `method_table`. Throws Error{corrupt} when that type does not share the method's class.
  Method describe_in(Address method_desc, Address method_table);
  // The same for walks over all methods: nothing is kept of a method that is not known already.
  UnspelledMethod describe_once(Address method_desc, MethodParts parts = MethodParts::all);
  // Sets `user` when a compiler made the method of a user's. A method whose metadata is missing keeps the
  // compiler's name alone. Cached per method and instantiation; no reads for a name that no compiler gives.
  void add_user_method(Method& method);
  void add_user_method(UnspelledMethod& method);
  // The method at `method_desc` as the runtime keeps it, checked. Valid until the next call. Throws as above.
  const MethodDesc& method_desc(Address method_desc);

  // Tier of the body that starts at `start`: from its version node, else from the flags, else unknown. Also
  // unknown when the runtime does not store the reason for its choice. Throws Error for missing memory and
  // for chains of versions that do not end. Cost warm: 2 reads, and one per version of the method.
  Tier tier(Address method_desc, Address start, CodeKind kind);

  // The name of the type of a MethodTable: "System.InvalidOperationException". Throws Error when
  // `method_table` is no MethodTable or the type has no name. Cached.
  std::string type_name(Address method_table);

  // Every module of the app domain, and every other module that a range section names. Holes are skipped.
  std::vector<ModuleDescription> modules();

  // Visits every method of an R2R image that has code, executed or not, with the index of its runtime
  // function. The visitor may keep the value. Signatures are left out where that saves something.
  struct R2RMethod {
    std::uint32_t function_index = 0;
    UnspelledMethod method;
  };
  void for_each_r2r_method(const RangeSection& section, const std::function<bool(R2RMethod&)>& visit,
                           MethodParts parts = MethodParts::all);
  // The method that owns runtime function `index` of an image (funclets belong to the preceding entry);
  // nothing if the image's tables do not name it. First call per image indexes it.
  const Method* r2r_method(const RangeSection& section, std::uint32_t index);

  // The target of the import cell at `cell` of a ReadyToRun image; nothing when `cell` is no such cell.
  // Throws Error when its image cannot be read. Cost: 2 reads, and those for the names; once per image the
  // table of its import sections.
  std::optional<R2RImport> import_at(Address cell);

  // The parts from which the names are made, for readers of types and objects, so that they share the caches.
  // Valid as long as this object.
  TypeNames& types();
  ExecutionManager& code();
  NamedModules& named_modules();
  // Every module of the app domain, and every other module that a range section names. Kept. Never throws.
  const std::vector<Address>& module_addresses();
  // The type arguments of a generic method as TypeHandles; empty for a generic definition and for methods
  // that are not generic. Throws Error{memory_missing, corrupt}.
  std::vector<Address> method_arguments(Address method_desc);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
