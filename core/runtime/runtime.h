// The facade over one stop of a process or core: finds the runtime, then answers addresses, lists methods and
// describes what it found. Faults end here and come out as values.
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/execution/execution_manager.h"
#include "core/memory/loaded_module.h"
#include "core/runtime/answer.h"
#include "core/target/descriptor_locator.h"
#include "core/target/supplements.h"
#include "core/target/target.h"
#include "core/types/method_names.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class AddedSymbols;
class NameFilter;
class ObjectReader;
class SourceLines;

// One row of `clr methods`.
struct MethodRow {
  Method method;
  Code code;
};

struct MethodQuery {
  std::string glob;   // over Method::full_name and Method::name; * and ? only; empty: every method
  bool jitted = true; // bodies in code heaps
  bool r2r = true;    // ReadyToRun methods, those that never ran included
};

struct ContractInfo {
  std::string name;
  std::string version; // as the descriptor writes it; empty: the descriptor does not list it
  bool used = false;   // this library reads through it
};

// What `clr info` tells. A count that could not be had is nothing, and `problems` says why.
struct RuntimeInfo {
  std::string name; // "CoreCLR"; empty when there is no runtime
  std::string version;
  std::string os, cpu;
  Address descriptor = 0;
  std::string found_in; // file name of the module that holds the descriptor
  std::string found_by; // how the descriptor was found
  std::vector<ContractInfo> contracts;
  std::vector<Supplement> supplements; // layouts that the descriptor is silent about
  std::optional<std::size_t> range_sections, code_heaps, jitted_methods, r2r_functions;
  std::vector<ModuleDescription> modules;
  std::vector<std::string> problems; // what could not be read or is not whole
};

class Runtime {
public:
  // Looks for a runtime among `modules`; `memory` and `files` (which may be null) must outlive this. Never
  // throws for what it finds: see `presence`. Cost: that of locate_runtimes, and 3 reads for the descriptor.
  Runtime(MemoryReader& memory, std::vector<LoadedModule> modules, Platform platform, AssemblyFiles* files);
  ~Runtime();

  // Null when a runtime is there and can be read; else the miss (no_runtime, not_started) or the fault that
  // every lookup answers with.
  const std::variant<MissAnswer, FaultAnswer>* absence() const;

  // Symbol files to ask where runtime memory names nothing; null: none.
  void set_symbols(std::shared_ptr<const AddedSymbols> symbols) { symbols_ = std::move(symbols); }
  const AddedSymbols* symbols() const { return symbols_.get(); }

  // What is at `ip`. Never throws. Cost: that of ExecutionManager::find and MethodNames::describe; 0 reads
  // for a second address in the same method.
  Answer resolve(Address ip);

  // The method that owns a code block which a walker of stacks found. Never throws.
  MethodAnswer describe(const CodeBlock& block);

  // Adds the source line to an answer that is a method's: that of the instruction at its address. Never
  // throws. Cost: that of SourceLines::at.
  void add_source(Answer& answer);
  // The same for a block that a walker of stacks found; `kind` as of block.ip.
  void add_source(MethodAnswer& answer, const CodeBlock& block, NativeOffsetKind kind);

  // The method of a MethodDesc that came from elsewhere (a Frame, an exception), and why it could not be had
  // in Method::degraded. Never throws.
  Method describe(Address method_desc);
  // The same for walks over all methods: nothing is kept of it. An exception that is no Error passes.
  UnspelledMethod describe_once(Address method_desc);

  // Calls `visit` for every method that `query` asks for, body by body, as they are found; false from `visit`
  // stops. Returns what could not be read. Never throws.
  std::vector<EnumerationHole> for_each_method(const MethodQuery& query,
                                               const std::function<bool(const MethodRow&)>& visit);

  // Name, version and place of the runtime, without counts and modules. Never throws.
  RuntimeInfo summary() const;
  // All of it. Counts bodies: reads every nibble map. Never throws.
  RuntimeInfo info();

  // The module that maps `address`, null if none. No reads.
  const LoadedModule* module_at(Address address) const;
  const std::vector<LoadedModule>& modules() const { return modules_; }
  // As the descriptor says; before one is found, as the caller said.
  const Platform& platform() const { return platform_; }

  // The parts, for walkers of stacks and readers of objects. Null while `absence` is not.
  const Target* target() const;
  ExecutionManager* code() const;
  MethodNames* names() const;
  SourceLines* lines() const;
  ObjectReader* objects() const;

private:
  struct Parts;
  void locate();
  Answer resolve_by_memory(Address ip);
  Answer resolve_or_throw(Address ip);
  Method method_of(const CodeBlock& block);
  Method compiled_method(const CodeBlock& block);
  Method method_at(Address method_desc);
  MissAnswer explain(const Miss& miss, Address ip);
  void explain_call_counting(MissAnswer& answer, Address ip);
  bool visit_jitted(const NameFilter& filter, const std::function<bool(const MethodRow&)>& visit);
  bool visit_r2r(const RangeSection& section, const NameFilter& filter,
                 const std::function<bool(const MethodRow&)>& visit);
  void describe_location(RuntimeInfo& info) const;
  void count_code(RuntimeInfo& info);
  Code describe_code(const CodeBlock& block, bool with_offset);
  template<typename Describe>
  Method described(Address method_desc, const Describe& describe);

  MemoryReader* memory_;
  AssemblyFiles* files_;
  std::vector<LoadedModule> modules_; // sorted by base
  Platform platform_;
  std::vector<std::string> problems_; // of the search for the runtime
  std::optional<LocatedRuntime> located_;
  std::optional<std::variant<MissAnswer, FaultAnswer>> absence_;
  std::unique_ptr<Parts> parts_;
  std::shared_ptr<const AddedSymbols> symbols_;
};

} // namespace clr
