// One call of a catalog: finds what is new and what is gone, and makes modules of it. For code_catalog only.
#pragma once

#include "core/describe/body_description.h"
#include "core/describe/line_rows.h"
#include "core/publish/catalog_modules.h"
#include "core/publish/catalog_state.h"
#include "core/publish/code_catalog.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clr {

class CatalogUpdate {
public:
  // All must outlive this. Throws Error{unsupported_contract} for a CPU other than x64 and arm64.
  CatalogUpdate(CatalogState& state, Runtime& runtime, const CatalogOptions& options);

  // One of these, once.
  CatalogChange all();
  CatalogChange one(Address ip);
  CatalogChange unknown();

  static constexpr std::size_t max_problems = 32;

private:
  void problem(std::string text);
  // Runs `step`; what it throws becomes a problem of `what`.
  template<typename Step>
  void guarded(const std::function<std::string()>& what, const Step& step);
  bool stop();

  void find_jitted();
  void find_heap(const RangeSection& section);
  bool is_known(const JittedBody& body);
  void find_images();
  void find_stubs();
  void add_stub(StubKind kind, Address begin, Address end, Address range, bool follow);
  void describe_new();
  // Moves the method out of `body` when it is still needed later.
  void describe(FoundBody& body);
  bool exact_wanted(const FoundBody& body) const;

  // Of the positions asked for and the code that is interrupted.
  void set_exact();
  // Code whose interruptions came or went is described anew.
  void find_interrupted();
  // Code without lines where a thread stands in an epilogue that a debugger does not work out.
  void find_epilogues();
  void find_freed();
  void find_freed_bodies(const std::set<Address>& live);
  // What holds the code at `ip` is described anew.
  void retire_at(Address ip);
  // Forgets modules; their bodies that are still there are described anew.
  void retire();
  void resolve_overlaps();
  // Of what was described since the last call: of all of it, or of owners that have much.
  void make_modules();
  void make_large_modules();
  void make_unknown();
  CatalogChange finish();

  CatalogState& state_;
  Runtime& runtime_;
  const CatalogOptions& options_;
  ExecutionManager& code_;
  BodyDescriber describer_;
  LineRows lines_;
  CatalogModules modules_;

  const ModuleId last_before_; // modules after it were made by this update
  std::vector<Address> exact_; // ascending: where the description is to be exact
  CatalogChange change_;
  // Jitted code.
  struct NewBody {
    Address start = 0, method_desc = 0, code_header = 0;
    const RangeSection* section = nullptr; // of ExecutionManager::sections()
  };
  std::vector<NewBody> new_bodies_;
  std::vector<OwnedCode> described_;
  std::vector<DescribedPart> parts_; // of the body that is being described
  struct Owner {
    std::shared_ptr<const CodeOwner> owner;
    std::shared_ptr<SourceFiles> files;
  };
  const Owner& owner_of(const FoundBody& body);
  std::map<CodeOwner, Owner> owners_;
  const Owner* last_owner_ = nullptr; // of the body before
  std::set<Address> walked_;          // code heaps that lost bodies, all seen, by begin of their section
  std::size_t seen_ = 0;              // known bodies met in the heap that is being walked
  std::set<ModuleId> retired_;
  std::size_t more_problems_ = 0, asked_ = 0;
  bool stopped_ = false;
};

} // namespace clr
