// The phase of an update that makes debug information of code: names, unwinding, lines, interruptions.
#pragma once

#include "core/describe/body_description.h"
#include "core/describe/line_rows.h"
#include "core/publish/catalog_phases.h"
#include "core/publish/update_run.h"
#include "core/types/code_claims.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clr {

class CodeDescriber {
public:
  // `run` must outlive this, and holds the code that is interrupted now. No reads. Throws
  // Error{unsupported_contract} for a CPU other than x64 and arm64.
  explicit CodeDescriber(UpdateRun& run);

  // None of the functions below lets an Error out: a body that cannot be described becomes a problem of the
  // run, a range that is not believed is entered in its state. A body that the caller gave up on is found
  // again by the next update.

  // An empty batch. It uses the memory of one that was handed to recycle(): to touch other memory costs more
  // than to describe code.
  DescribedBatch batch();
  void recycle(std::vector<OwnedCode> used);

  // Adds all of `current` to `batch`. `enough` (may be empty) is called between two code heaps as soon as
  // codes_at_once pieces were added, and may take from the batch. Cost: that of ExecutionManager::layout,
  // Runtime::describe_once and BodyDescriber::describe for each body.
  void describe(CurrentCode current, DescribedBatch& batch,
                const std::function<void(DescribedBatch&)>& enough = {});
  // Adds one body of ReadyToRun code; `body` is moved from.
  void describe(FoundBody& body, DescribedBatch& batch);
  // Adds the stubs of range lists and the thunks of images; of the sections that begin at `only` alone, if
  // that is not null. Cost: that of ExecutionManager::find for each range list, and a read of the thunks.
  void describe_stubs(DescribedBatch& batch, const std::set<Address>* only = nullptr);

private:
  struct Owner {
    std::shared_ptr<const CodeOwner> owner;
    std::shared_ptr<SourceFiles> files;
  };
  const Owner& owner_of(const FoundBody& body);
  bool exact_wanted(const FoundBody& body) const;
  // False, and told, when a part of the body is no range to publish.
  bool is_believed(const FoundBody& body);
  void remember(const FoundBody& body);
  void add_range_list(const RangeSection& section, DescribedBatch& batch);
  void add_thunks(const RangeSection& section, DescribedBatch& batch);
  // `follow`: the stubs begin at `begin`, so that their instructions can be followed. They are called by
  // their kind when `name` is empty.
  void add_stubs(const NewStubs& stubs, bool follow, DescribedBatch& batch, const std::string& name = {});

  UpdateRun& run_;
  BodyDescriber bodies_;
  CodeClaims claims_;
  LineRows lines_;
  std::vector<Address> exact_;       // ascending: where the description is to be exact
  std::vector<DescribedPart> parts_; // of the body that is being described
  std::map<CodeOwner, Owner> owners_;
  const Owner* last_owner_ = nullptr; // of the body before
  std::vector<OwnedCode> spare_;      // empty, with room
};

} // namespace clr
