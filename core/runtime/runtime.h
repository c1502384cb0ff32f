// The facade over one stop of a process or core: it finds the runtime, answers questions about addresses,
// lists methods and describes the runtime. Faults end here and become values.
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/execution/execution_manager.h"
#include "core/memory/loaded_module.h"
#include "core/runtime/answer.h"
#include "core/target/descriptor_locator.h"
#include "core/target/supplements.h"
#include "core/target/target.h"
#include "core/types/code_claims.h"
#include "core/types/method_names.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class AddedSymbols;
class ImageWalk;
class NameFilter;
class ObjectReader;
class SourceLines;

// One row of `clr methods`.
struct MethodRow {
  Method method;
  runtime::Code code;
};

struct MethodQuery {
  std::string glob;   // compared with Method::full_name and Method::name; * and ? only; empty: every method
  bool jitted = true; // bodies in code heaps
  bool r2r = true;    // ReadyToRun methods, including those that never ran
};

struct ContractInfo {
  std::string name;
  std::string version; // in the spelling of the descriptor; empty: the descriptor does not list it
  bool used = false;   // this library reads data by this contract
  bool known = false;  // of a used one: this version of it can be read
};

// The facts that `clr info` shows. A count that is not available is nothing, and `problems` says why.
struct RuntimeInfo {
  std::string name; // "CoreCLR"; empty when there is no runtime
  std::string version;
  std::string os, cpu;
  Address descriptor = 0;
  std::string found_in; // file name of the module that holds the descriptor
  std::string found_by; // how the descriptor was found
  std::vector<ContractInfo> contracts;
  std::vector<Supplement> supplements; // layouts that the descriptor does not give
  std::optional<std::size_t> range_sections, code_heaps, jitted_methods, r2r_functions;
  std::vector<ModuleDescription> modules;
  std::vector<std::string> problems; // parts that could not be read or are incomplete
};

class Runtime {
public:
  // Looks for a runtime in `modules`. `memory` and `files` (which may be null) must outlive this. A
  // `descriptor` takes the place of the one that the runtime of its build publishes. Never
  // throws because of the target: see `absence`. Cost: that of locate_runtimes, and 3 reads for the
  // descriptor.
  Runtime(MemoryReader& memory, std::vector<LoadedModule> modules, Platform platform, AssemblyFiles* files,
          std::shared_ptr<const DescriptorFile> descriptor = nullptr);
  ~Runtime();

  // Null when there is a runtime that can be read; else the miss (no_runtime, not_started) or the fault with
  // which every lookup answers.
  const std::variant<MissAnswer, FaultAnswer>* absence() const;

  // Symbol files to search when runtime memory has no name for an address; null: none.
  void set_symbols(std::shared_ptr<const AddedSymbols> symbols) { symbols_ = std::move(symbols); }
  const AddedSymbols* symbols() const { return symbols_.get(); }

  // The answer about `ip`. Never throws. Cost: that of ExecutionManager::find and MethodNames::describe; 0
  // reads for a second address in the same method.
  runtime::Answer resolve(Address ip);

  // The method of a code block. Of one in which a thread stands more must agree than of one that may be
  // compiled at this moment (CodeClaims::check); resolve() asks as much. Never throws.
  MethodAnswer describe(const CodeBlock& block, BodyFound found = BodyFound::listed);

  // Adds the source line of the instruction at the answer's address, if the answer is a method. Never throws.
  // Cost: that of SourceLines::at.
  void add_source(runtime::Answer& answer);
  // The same for a block that a stack walker found; `kind` belongs to block.ip.
  void add_source(MethodAnswer& answer, const CodeBlock& block, NativeOffsetKind kind);

  // The method of a MethodDesc from another source (a Frame, an exception). When it cannot be read,
  // Method::degraded says why. Never throws.
  Method describe(Address method_desc);
  // The same for walks over all methods: nothing is kept of it. An exception that is no Error passes.
  UnspelledMethod describe_once(Address method_desc);

  // Calls `visit` for every body of every method that `query` selects, in the order in which they are found;
  // stops when `visit` returns false. Returns the parts that could not be read, and what is beyond a
  // WalkLimit or an ImageWalk. Never throws.
  std::vector<EnumerationHole> for_each_method(const MethodQuery& query,
                                               const std::function<bool(const MethodRow&)>& visit);

  // Name, version and place of the runtime, without counts and modules. Never throws.
  RuntimeInfo summary() const;
  // The descriptor that the runtime publishes, or the file that stands in for it. Throws Error when there is
  // none. Cost: 3 reads.
  DescriptorFile record_descriptor() const;
  // All facts. Counts bodies, and reads every nibble map for that. Never throws.
  RuntimeInfo info();

  // The image of ReadyToRun code at `ip`, by what the runtime noted of it: also where the image itself cannot
  // be read, so that nothing is known of the code but that. Nothing for other code. Never throws. Cost: that
  // of ExecutionManager::sections, once.
  struct CodeImage {
    std::string name; // "app.dll"
    Address base = 0;
  };
  std::optional<CodeImage> image_of(Address ip);

  // The module that maps `address`, null if none. No reads.
  const LoadedModule* module_at(Address address) const;
  const std::vector<LoadedModule>& modules() const { return modules_; }
  // The module that contains the runtime (libcoreclr.so, or the program of a single file), found by its
  // descriptor and not by its name; null when there is none. No reads.
  const LoadedModule* runtime_module() const;
  // The platform in the descriptor; before a descriptor is found, the platform that the caller gave.
  const Platform& platform() const { return platform_; }

  // The parts, for stack walkers and readers of objects. Null when absence() is not null.
  const Target* target() const;
  ExecutionManager* code() const;
  MethodNames* names() const;
  SourceLines* lines() const;
  ObjectReader* objects() const;

  // Throws Error{corrupt} when no object begins at `object`: outside of the managed heap, within an object
  // (the message names it), in free memory. Does nothing where the heap is not known or not known whole.
  // Cost: the first time that of read_heap_map; then that of ObjectStarts::holder.
  void require_object_start(Address object);

private:
  struct Parts;
  void locate();
  runtime::Answer resolve_by_memory(Address ip);
  runtime::Answer resolve_or_throw(Address ip);
  Method method_of(const CodeBlock& block, BodyFound found);
  Method compiled_method(const CodeBlock& block, BodyFound found);
  Method method_at(Address method_desc);
  MissAnswer explain(const execution::Miss& miss, Address ip);
  void explain_call_counting(MissAnswer& answer, Address ip);
  bool visit_jitted(const NameFilter& filter, const std::function<bool(const MethodRow&)>& visit);
  bool visit_r2r(const RangeSection& section, const NameFilter& filter, ImageWalk& walk,
                 const std::function<bool(const MethodRow&)>& visit);
  void describe_location(RuntimeInfo& info) const;
  void count_code(RuntimeInfo& info);
  runtime::Code describe_code(const CodeBlock& block, bool with_offset);
  template<typename Describe>
  Method described(Address method_desc, const Describe& describe);

  MemoryReader* memory_;
  AssemblyFiles* files_;
  std::shared_ptr<const DescriptorFile> descriptor_file_;
  std::vector<LoadedModule> modules_; // sorted by base
  Platform platform_;
  std::vector<std::string> problems_; // of the search for the runtime
  std::optional<LocatedRuntime> located_;
  std::optional<std::variant<MissAnswer, FaultAnswer>> absence_;
  std::unique_ptr<Parts> parts_;
  std::shared_ptr<const AddedSymbols> symbols_;
};

} // namespace clr
