// The values that the phases of an update hand on. Each can be made by the phase before alone, and moved but
// not copied, so that a phase that is left out, or called twice or too early, does not compile:
//
//   find      -> FoundCode        new code, and the published modules that are out of date
//   withdraw  -> CurrentCode      those modules are forgotten; all code that is to be described
//   describe  -> DescribedBatch   debug information of it
//   resolve   -> DisjointBatch    no published module holds any of this code
//   group     -> GroupedModules   modules with sections and variables
//   publish   -> Published        the catalog knows them, and the caller has them
#pragma once

#include "core/execution/execution_manager.h"
#include "core/publish/code_modules.h"
#include "core/publish/known_bodies.h"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace clr {

class CurrentCode;
class UpdateRun;

// A jitted body that is not described, or not any more.
struct NewBody {
  Address start = 0, method_desc = 0, code_header = 0;
  const RangeSection* section = nullptr; // of ExecutionManager::sections()
};

// Stubs that are not described.
struct NewStubs {
  StubKind kind = StubKind::unknown;
  Address begin = 0, end = 0;
  Address section = 0;  // its begin
  bool of_list = false; // of a range list, else of a code heap or an image
};

// A value that is moved from phase to phase and made by the phase's own class alone.
class PhaseValue {
public:
  PhaseValue(const PhaseValue&) = delete;
  PhaseValue& operator=(const PhaseValue&) = delete;

protected:
  PhaseValue() = default;
  PhaseValue(PhaseValue&&) = default;
  PhaseValue& operator=(PhaseValue&&) = default;
  ~PhaseValue() = default;
};

class FoundCode : PhaseValue {
private:
  friend class CodeFinder;
  friend class CodePublisher;
  friend CurrentCode withdraw(UpdateRun& run, FoundCode found);
  FoundCode() = default;

  std::vector<NewBody> bodies_;
  std::vector<NewStubs> stubs_;
  std::set<ModuleId> outdated_;
};

// The starts of all code that an update describes, ascending: no section reaches over one of them.
using CodeStarts = std::vector<Address>;

class CurrentCode : PhaseValue {
public:
  CodeStarts starts() const;

private:
  friend class CodeDescriber;
  friend CurrentCode withdraw(UpdateRun& run, FoundCode found);
  CurrentCode() = default;

  std::vector<NewBody> bodies_;
  std::vector<NewStubs> stubs_;
};

// Forgets the modules that are out of date. Their bodies that still exist are to be described again; stubs
// and ReadyToRun code are found again by later phases. No reads.
CurrentCode withdraw(UpdateRun& run, FoundCode found);

class DescribedBatch : PhaseValue {
public:
  std::size_t size() const { return code_.size(); } // stretches of code

private:
  friend class CodeDescriber;
  friend class CodePublisher;
  explicit DescribedBatch(std::vector<OwnedCode> room) : code_(std::move(room)) {}

  std::vector<OwnedCode> code_;
};

class DisjointBatch : PhaseValue {
private:
  friend class CodePublisher;
  explicit DisjointBatch(std::vector<OwnedCode> code) : code_(std::move(code)) {}

  std::vector<OwnedCode> code_;
};

class GroupedModules : PhaseValue {
private:
  friend class CodePublisher;
  explicit GroupedModules(std::vector<OwnedModule> modules) : modules_(std::move(modules)) {}

  std::vector<OwnedModule> modules_;
};

// All code up to here is published. Unknown code takes the places that are left, so it wants this value.
class Published : PhaseValue {
private:
  friend class CodePublisher;
  Published() = default;
};

} // namespace clr
