// The objects of one stop that tell who waits for whom, collected by one walk over the heap when they are
// first asked for.
#pragma once

#include "core/runtime/heap_holders.h"
#include "core/runtime/heap_report.h"
#include "core/waits/async_graph.h"
#include "core/waits/heap_pass.h"
#include "core/waits/lock_index.h"

#include <memory>
#include <optional>
#include <string>

namespace clr {

class WaitObjects {
public:
  // `runtime` must have a target; both must outlive this. No reads.
  WaitObjects(Runtime& runtime, HeapReporter& heap);

  // The first walk also counts the heap for its reporter, and numbers its objects for `holders`, which must
  // outlive this: for who will ask for all three, one walk does.
  void walk_also_for(HeapHolders& holders) { holders_ = &holders; }

  // The objects; walks the heap the first time, and again when that was interrupted. Cost: that of
  // HeapPass::run.
  const HeapPassResult& found(const HeapWalkOptions& options = {});
  // What the last walk found, whether it was interrupted or not; there must have been one. No reads.
  const HeapPassResult& last() const { return *found_; }
  // The async methods and tasks among them. Valid until a walk that was interrupted is repeated. Cost: that
  // of found(), and of AsyncGraph.
  AsyncGraph& async(const HeapWalkOptions& options = {});

  // The locks among them. Throws Error{interrupted}. Cost: that of found(), and a second walk over the heap
  // when found() was called before.
  LockIndex& locks(const HeapWalkOptions& options = {});

  // "N types of the heap are not known, ..."; empty when all that were met are known. No reads.
  std::string unknown_types() const;

  Runtime& runtime() { return *runtime_; }
  HeapReporter& heap() { return *heap_; }

private:
  Runtime* runtime_;
  HeapReporter* heap_;
  HeapHolders* holders_ = nullptr;
  TypeLineages lineages_;
  HeapPass pass_;
  std::size_t async_classes_ = 0;
  std::optional<HeapPassResult> found_;
  std::unique_ptr<AsyncGraph> async_;
  LockIndex lock_index_;
  bool locks_read_ = false;
};

} // namespace clr
